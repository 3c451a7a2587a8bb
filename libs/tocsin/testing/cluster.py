"""A Kafka cluster in memory: no threads, no waiting, the same history for the same calls."""

from collections.abc import Callable, Collection

from tocsin.broker.errors import Die, RecordRefused
from tocsin.broker.port import (
    LINGER_MS,
    Delivered,
    Headers,
    Isolation,
    Record,
    TopicInfo,
    TopicPartition,
)
from tocsin.testing.clock import SettableClock
from tocsin.testing.faults import Faults
from tocsin.testing.groups import Group
from tocsin.testing.log import PartitionLog
from tocsin.testing.members import MemoryGroupConsumer, MemoryGroupMember
from tocsin.testing.producers import MemoryProducer, MemoryTransactionalProducer
from tocsin.testing.readers import Cursors, MemoryLogReader
from tocsin.testing.shares import MemoryShareConsumer, ShareGroup
from tocsin.testing.transactions import Transaction, TransactionCoordinator
from tocsin.wire.partitions import partition_of


class _Topic:
    def __init__(self, topic_id: str, logs: list[PartitionLog], *, compacted: bool) -> None:
        self.topic_id = topic_id
        self.logs = logs
        self.compacted = compacted
        self.keyless = 0


class MemoryCluster:
    """See `tocsin.broker.port.Cluster`; beside it, what an operator, a broker's background work
    and an accident do: make topics, compact, truncate, let time-outs pass, fail calls.

    Append times come from `clock`. For one thread.
    """

    def __init__(self, clock: SettableClock | None = None) -> None:
        self.clock = clock or SettableClock()
        self.faults = Faults()
        self._topics: dict[str, _Topic] = {}
        self._topics_made = 0
        self._groups: dict[str, Group] = {}
        self._share_groups: dict[tuple[str, str], ShareGroup] = {}
        self._coordinator = TransactionCoordinator()

    def create_topic(self, name: str, partitions: int, *, compacted: bool = False) -> None:
        """Raises ValueError if it exists. A compacted topic refuses records without a key."""
        if name in self._topics:
            raise ValueError(f"topic {name} exists")
        self._topics_made += 1
        logs = [PartitionLog(TopicPartition(name, p), self.clock) for p in range(partitions)]
        topic_id = f"topic-{self._topics_made}"
        self._topics[name] = _Topic(topic_id, logs, compacted=compacted)

    def delete_topic(self, name: str) -> None:
        """Its records are gone, and what groups have committed of it; one made again under the
        name has another id."""
        del self._topics[name]
        for group in self._groups.values():
            group.forget(name)

    def compact(
        self,
        topic: str,
        partition: int,
        keep: Callable[[Record], bool] = lambda _: False,
        *,
        drop_tombstones: bool = False,
    ) -> None:
        """Drop older records of each key, those excepted that `keep` wants kept."""
        self._log(TopicPartition(topic, partition)).compact(keep, drop_tombstones=drop_tombstones)

    def truncate(self, topic: str, partition: int, begin: int) -> None:
        """Retention: delete what is below `begin`."""
        self._log(TopicPartition(topic, partition)).truncate(begin)

    def expire_transactions(self) -> None:
        """The transaction time-out of every open transaction has passed."""
        self._coordinator.expire()

    def forget_offsets(self, group: str) -> None:
        """The group was empty for a week, or an operator has deleted its offsets."""
        self._group(group).committed.clear()

    def reset_offset(self, group: str, partition: TopicPartition, offset: int) -> None:
        """What `kafka-consumer-groups --reset-offsets` does: no metadata."""
        self._group(group).commit_foreign(partition, offset)

    def records(
        self,
        topic: str,
        partition: int,
        isolation: Isolation = Isolation.COMMITTED,
        since: int = 0,
    ) -> list[Record]:
        """All that a reader sees now, from the offset `since` on."""
        log = self._log(TopicPartition(topic, partition))
        return log.read(max(log.begin, since), log.high_watermark + 1, isolation)[0]

    def group_member(self, group: str, *, instance_id: str | None = None) -> MemoryGroupMember:
        return MemoryGroupMember(self._group(group), instance_id, self.faults)

    def log_reader(
        self,
        group: str = "",
        *,
        isolation: Isolation = Isolation.COMMITTED,
        is_patient: bool = False,
        min_bytes: int = 1,
    ) -> MemoryLogReader:
        cursors = Cursors(self._log, isolation)
        return MemoryLogReader(cursors, self._group(group), isolation, self.faults)

    def transactional_producer(self, transactional_id: str) -> MemoryTransactionalProducer:
        return MemoryTransactionalProducer(
            transactional_id, self._append, self._coordinator, self.clock, self.faults
        )

    def producer(self, *, linger_ms: int = LINGER_MS) -> MemoryProducer:
        return MemoryProducer(self._append, self.faults)

    def group_consumer(self, group: str, *, instance_id: str | None = None) -> MemoryGroupConsumer:
        cursors = Cursors(self._log, Isolation.COMMITTED)
        return MemoryGroupConsumer(self._group(group), instance_id, self.faults, cursors)

    def share_consumer(self, group: str, topic: str, *, max_records: int) -> MemoryShareConsumer:
        shared = self._share_groups.get((group, topic))
        if shared is None:
            shared = ShareGroup(lambda: self._topic(topic).logs)
            self._share_groups[group, topic] = shared
        return MemoryShareConsumer(shared, max_records, self.faults)

    def fence(self, transactional_id: str, timeout: float) -> None:
        with self.faults.during("fence"):
            self._coordinator.init(transactional_id)

    def cluster_id(self, timeout: float) -> str:
        return "memory"

    def topics(self, names: Collection[str], timeout: float) -> dict[str, TopicInfo]:
        found = {name: self._topics[name] for name in names if name in self._topics}
        return {name: TopicInfo(t.topic_id, len(t.logs)) for name, t in found.items()}

    def topic_names(self, timeout: float) -> frozenset[str]:
        return frozenset(self._topics)

    def _append(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        headers: Headers | None,
        transaction: Transaction | None,
    ) -> Delivered:
        place = self._topic(topic)
        if key is None and place.compacted:
            raise RecordRefused("a compacted topic needs keys", code="INVALID_RECORD").at(topic)
        number = _choose(place, key) if partition is None else partition
        log = self._log(TopicPartition(topic, number))
        record = log.append(key, value, headers, transaction)
        return Delivered(topic, number, record.offset, record.timestamp)

    def _topic(self, name: str) -> _Topic:
        try:
            return self._topics[name]
        except KeyError:
            code = "UNKNOWN_TOPIC_OR_PART"
            raise Die("the topic does not exist", code=code).at(name) from None

    def _log(self, place: TopicPartition) -> PartitionLog:
        logs = self._topic(place.topic).logs
        if not 0 <= place.partition < len(logs):
            code = "UNKNOWN_TOPIC_OR_PART"
            raise Die(f"the topic has {len(logs)} partitions", code=code).at(*place)
        return logs[place.partition]

    def _group(self, name: str) -> Group:
        return self._groups.setdefault(name, Group(self._partition_count))

    def _partition_count(self, topic: str) -> int | None:
        found = self._topics.get(topic)
        return None if found is None else len(found.logs)


def _choose(topic: _Topic, key: bytes | None) -> int:
    if key is not None:
        return partition_of(key, len(topic.logs))
    topic.keyless += 1
    return (topic.keyless - 1) % len(topic.logs)
