"""The port to the log: what every part of Tocsin may ask of Kafka, and nothing more.

Two implementations pass one suite (`tests/broker/`): `tocsin.broker.kafka.KafkaCluster` and
`tocsin.testing.MemoryCluster`.

For all roles:
- Times given are seconds (float), times read from the log are UTC epoch milliseconds (int).
- A method blocks only where it takes a `timeout`, and no longer than that, unless its docstring
  says otherwise. Where time runs out it raises `BrokerUnreachable`, unless it says otherwise.
- A method raises `BrokerError`s only (`tocsin.broker.errors`), each sorted by what to do.
- An object belongs to one thread, except `Producer`, which several may share.
- Nothing is read, joined or connected before it is asked for: constructors do no I/O.
- `close()` may be called twice; any other use of a closed object is an error of the caller's.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from enum import StrEnum
from typing import NamedTuple, Protocol

from tocsin.broker.errors import BrokerError

Headers = list[tuple[str, bytes]]

LINGER_MS = 2
"""How long a record waits for others that go with it, unless told otherwise."""

GATHERED_BYTES = 8_192
"""A fetch of a reader that reads many partitions under load. One fetch after another, four hundred
a second, took a tenth of a broker's core beside 4,000 records a second."""

MAX_RECORD_BYTES = 2 * 1024 * 1024
"""Key, value and headers of one record, with some overhead: the client refuses larger ones. The
topic's own `max.message.bytes` may be lower; the broker refuses those."""


class GroupMetadata:
    """Member and generation of a group member at one moment; opaque, for `send_offsets`."""


MAX_METADATA_BYTES = 4095
"""Metadata of one offset: a broker with its default settings refuses 4,096."""


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class RecordPlace(NamedTuple):
    """Where a record stands."""

    topic: str
    partition: int
    offset: int


class Record(NamedTuple):
    """One record of the log. `timestamp` is the broker's append time; `value` None = tombstone."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Committed(NamedTuple):
    """A group's committed offset (None = nothing committed) and the metadata beside it."""

    offset: int | None
    metadata: str


class Delivered(NamedTuple):
    """Where a record stands, once all in-sync replicas have it.

    offset: None where the brokers do not say: they had it already from a send whose answer was
    lost.
    """

    topic: str
    partition: int
    offset: int | None
    timestamp: int


DeliveryCallback = Callable[[Delivered | BrokerError], None]
"""Told once how a record ended; runs inside `poll`, `flush` or `produce` of the producer."""


class AppendTime(NamedTuple):
    """The broker's clock as last seen: `append_ms` (epoch) was the case no later than
    `arrived_ms` (this process's monotonic clock, `tocsin.clock.monotonic_ms`)."""

    append_ms: int
    arrived_ms: int


class TopicInfo(NamedTuple):
    """`topic_id` changes when a topic is deleted and made again under its old name."""

    topic_id: str
    partitions: int


class Isolation(StrEnum):
    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


class AssignmentListener(Protocol):
    """Told about partitions that come and go, inside `poll`, on the caller's thread.

    The group waits for a member until these return. An exception leaves through `poll` after the
    assignment has been carried out. `close()` of the member calls `on_revoke` for what is held.
    """

    def on_assign(self, partitions: frozenset[TopicPartition]) -> None:
        """These are the member's from now on, in addition to what it holds."""

    def on_revoke(self, partitions: frozenset[TopicPartition]) -> None:
        """These go when this returns; until then nobody else has them and commits still count."""

    def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """These have gone, and may run elsewhere: nothing can be committed for them."""


class GroupMember(Protocol):
    """Membership of a consumer group, without reading: every partition stays paused.

    Classic protocol, cooperative-sticky: a rebalance takes only the partitions that move.
    With an `instance_id` (KIP-345) a restart within the session time-out keeps the partitions,
    and `close()` does not give them up.
    """

    def join(self, topic: str, listener: AssignmentListener) -> None:
        """Ask for a share of the topic's partitions; they arrive during later `poll`s."""

    def poll(self, timeout: float) -> None:
        """Take part in the group for this long; calls the listener. Must be called at least
        every 30 s, or the member is put out; then it is told so by `on_lost`, and joins again by
        itself.

        Raises `Die` (another process with the same `instance_id`; missing rights or topic),
        `Retry`.
        """

    def assignment(self) -> frozenset[TopicPartition]:
        """What the member holds now."""

    def group_metadata(self) -> GroupMetadata:
        """For `send_offsets`; true for this moment only: ask anew for every transaction."""

    def close(self) -> None:
        """Leave (a static member: stop) after `on_revoke`. May block for a few seconds."""


class LogReader(Protocol):
    """Reads the partitions it is given, from the offsets it is given; no group membership.

    `COMMITTED` readers see no record of an open or aborted transaction and none behind the first
    open one (the *last stable offset*). Offsets have holes: control records, aborted and compacted
    ones. Only `position` and `take_ends` tell how far a partition has been read.
    """

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Read these partitions from these offsets on, beside what is read already; a partition
        that is read already goes on from its new offset. Nothing older is returned afterwards.
        Whether the offset exists shows in `poll_batch`. A paused partition starts unpaused."""

    def unassign(self, partitions: Collection[TopicPartition]) -> None:
        """Stop reading these; none of their records or errors comes afterwards."""

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Return no records of these until `resume`; those not assigned are left out."""

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Undo `pause`, from where each stopped."""

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        """Wait for a first record or an end, then take what is there without waiting.

        In offset order within a partition. Empty when time is up or only ends were met.
        An error of one partition is raised by the call after the one that returned the records
        before it: `Rebuild` (the offset is not in the log; the partition stands still until it is
        assigned anew), `Die` (rights, missing topic), `Retry`; its place is in the error.
        """

    def take_ends(self) -> dict[TopicPartition, int]:
        """Partitions that met the end of the log since the last call, and the end's offset: all
        records below have been returned. Met again whenever the end has moved and is reached."""

    def position(self, partition: TopicPartition) -> int:
        """All records below this offset have been returned. Passes holes at an end only."""

    def begin_offsets(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        """The lowest offsets that the log still has."""

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        """One past the highest offset this reader may see now: the last stable offset, for an
        `UNCOMMITTED` reader the high watermark. One request for all partitions of a broker."""

    def offsets_since(
        self, instants: Mapping[TopicPartition, int], timeout: float
    ) -> dict[TopicPartition, int]:
        """The lowest offsets of records appended at these instants, epoch milliseconds, or later;
        where there is none, the end."""

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        """What the reader's group has committed. A `COMMITTED` reader waits while a transaction
        with offsets of these partitions is open; an `UNCOMMITTED` one answers at once with what
        was committed last."""

    def close(self) -> None:
        """Stop reading."""


class TransactionalProducer(Protocol):
    """Writes records and offsets all or nothing. One `transactional_id` for each one built.

    Order of calls: `init`, then for each transaction `begin`, `produce`…, `flush`,
    `send_offsets`, `commit` or `abort`. After `OutcomeUnknown` only `close`. After `Fenced` one
    `abort` is worth trying before `close`: where only the group has gone on, it spares the readers
    the wait for the broker's transaction time-out; where the id is fenced, it raises `Fenced`.
    """

    @property
    def last_append(self) -> AppendTime | None:
        """The broker's clock by the newest delivery report. Reports are sampled: the first
        record of each transaction, then one in 512, and each with a callback."""

    def init(self, timeout: float) -> None:
        """Register the id; aborts the open transaction of an older producer with the same id and
        fences it. Waits while that transaction is being decided."""

    def begin(self) -> None:
        """Open a transaction (locally). Raises `Fenced` if this is already known."""

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        """Queue a record; without a partition, Java's murmur2 over the key chooses it.

        Blocks (at most 5 s, then `BrokerUnreachable`) only while the queue is full.
        Raises `RecordRefused` if it is too large, `Fenced`.
        """

    def flush(self, timeout: float) -> None:
        """Wait until every record of the transaction is in the log or has failed. Before
        `send_offsets`, or the transaction is slow. A failed record shows in `commit`."""

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, tuple[int, str]],
        group_metadata: GroupMetadata,
        timeout: float,
    ) -> None:
        """Commit next offset and metadata (`MAX_METADATA_BYTES`) of each partition with the
        transaction. Raises `StaleGeneration` if there was a rebalance since the metadata was
        read, `Fenced` if the member is not in the group any more: a stale member is refused only
        here, so a transaction without offsets is not guarded by the group. Raises
        `OutcomeUnknown` where the client does not come back within 2 s more than `timeout`."""

    def commit(self, timeout: float) -> None:
        """All or nothing: decided when this returns. `COMMITTED` readers see it a moment later,
        partition by partition, when the broker has written its control markers; `init` or `fence`
        with the same id waits for them.

        Raises `OutcomeUnknown` when time is up, `AbortTransaction` (a record could not be
        written), `RecordRefused` (one never can be: abort, close, and go on without it with a new
        producer, as this one has lost count), `Fenced`.
        """

    def abort(self, timeout: float) -> None:
        """Undo the transaction and drop what is queued. Raises `OutcomeUnknown` when time is
        up: a late abort could hit the next transaction of the same producer."""

    def close(self) -> None:
        """Let go at once. An open transaction stays open until the id is fenced or the broker's
        transaction time-out has passed."""


class Producer(Protocol):
    """Writes single records; idempotent, acknowledged by all in-sync replicas.

    Reports arrive only while some thread is in `poll` or `flush`. Nothing is durable before
    its report is in.
    """

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        """Queue a record; as `TransactionalProducer.produce`. The callback gets `Delivered` or
        the error: `OutcomeUnknown` = it may be in the log, repeat only what may stand twice;
        `RecordRefused` = not written, as it or a neighbour in its batch is not acceptable."""

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
    ) -> "Future[Delivered]":
        """`produce` with the report as a future (for asyncio: `asyncio.wrap_future`)."""

    def poll(self, timeout: float) -> int:
        """Serve reports for at most this long; the number served. Raises `Die` for what will
        not pass by itself, such as refused credentials."""

    def flush(self, timeout: float) -> int:
        """Wait for all reports; the number still outstanding when time was up, 0 = all in."""

    def close(self) -> None:
        """Let go at once; records without a report are given up (their callbacks get
        `OutcomeUnknown`). Call `flush` first."""


class GroupConsumer(Protocol):
    """Membership of a consumer group with reading; offsets are committed by hand.

    Partitions start at the committed offset, without one at the beginning of the log. A partition
    that is revoked may still be committed inside `on_revoke`; one that is lost may not.
    """

    def subscribe(self, topics: Sequence[str], listener: AssignmentListener) -> None:
        """Ask for a share of the topics' partitions; they arrive during later polls."""

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        """As `LogReader.poll_batch`, and takes part in the group as `GroupMember.poll`: calls the
        listener, and must be called at least every 30 s, whatever is paused. No record of a
        partition is returned after its `on_revoke` or `on_lost`."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit the next offsets to read, and wait for it: milliseconds, at most about 10 s.
        Raises `Fenced` if the generation has passed: nothing was committed, what has been read
        will be read again, elsewhere. `BrokerUnreachable`, `Retry`: commit again."""

    def commit_later(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit without waiting. A failure is raised by a later `poll_batch`."""

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        """What the group has committed."""

    def assignment(self) -> frozenset[TopicPartition]:
        """What the member holds now."""

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        """Return no records of these until `resume`; partitions not held are left out."""

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        """Undo `pause`; partitions not held are left out."""

    def close(self) -> None:
        """Leave (a static member: stop) after `on_revoke`. May block for a few seconds."""


class ShareConsumer(Protocol):
    """Membership of a share group (KIP-932): each record of the topic goes to one member, whatever
    its partition, and to another if that one has not accepted it in time.

    Committed records only, from the beginning of the log when the group is new. The brokers hold
    a record for a member for 30 s by default, and give it to at most five, one after another.
    """

    def poll_batch(self, timeout: float) -> list[Record]:
        """Wait for a first record, then take what is there: about as many as `max_records`, or a
        whole batch of the log more. All records of the last call must have been accepted."""

    def accept(self, places: Collection[RecordPlace]) -> None:
        """These are done with, and need not be given to anybody again. Waits for the brokers;
        raises `Retry`, `BrokerUnreachable`: they may come again, here or elsewhere."""

    def close(self) -> None:
        """Leave; what was not accepted goes to others at once. May block for a few seconds."""


class Cluster(Protocol):
    """Makes the roles over one cluster. Each call gives a new object; the caller closes it."""

    def group_member(self, group: str, *, instance_id: str | None = None) -> GroupMember: ...

    def log_reader(
        self,
        group: str = "",
        *,
        isolation: Isolation = Isolation.COMMITTED,
        is_patient: bool = False,
        min_bytes: int = 1,
    ) -> LogReader:
        """`group`: whose offsets `committed` tells; never joined. is_patient: it asks the brokers
        less often; records come as soon, news of ends and what is assigned anew a little later.
        min_bytes: it is answered when so many are there, or after 20 ms: for a reader of many
        partitions under load, which would else ask after each record."""

    def transactional_producer(self, transactional_id: str) -> TransactionalProducer: ...

    def producer(self, *, linger_ms: int = LINGER_MS) -> Producer:
        """`linger_ms`: how long a record may wait for others that go with it."""
        ...

    def group_consumer(self, group: str, *, instance_id: str | None = None) -> GroupConsumer: ...

    def share_consumer(self, group: str, topic: str, *, max_records: int) -> ShareConsumer:
        """Configures the group before it is joined; raises BrokerErrors."""
        ...

    def fence(self, transactional_id: str, timeout: float) -> None:
        """Abort what a producer with this id has open and fence it for good."""

    def cluster_id(self, timeout: float) -> str:
        """The cluster's own id."""

    def topics(self, names: Collection[str], timeout: float) -> dict[str, TopicInfo]:
        """Those of the named topics that exist."""

    def topic_names(self, timeout: float) -> frozenset[str]:
        """The names of all topics that this client may see."""
