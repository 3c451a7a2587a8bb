"""Group membership: rebalances, with and without reading."""

from collections.abc import Callable, Collection, Mapping, Sequence

import confluent_kafka as ck

from tocsin.broker.errors import FENCED_INSTANCE, Die
from tocsin.broker.kafka.clients import make_client
from tocsin.broker.kafka.logs import LOG, PendingErrors
from tocsin.broker.kafka.messages import (
    committed_of,
    raise_first,
    to_client,
    to_client_at,
    to_error,
    to_port,
    to_record,
)
from tocsin.broker.kafka.readers import PARTITION_EOF
from tocsin.broker.kafka.settings import Conf
from tocsin.broker.kafka.translate import translate, translating
from tocsin.broker.port import (
    AssignmentListener,
    Committed,
    GroupMetadata,
    Record,
    TopicPartition,
)

MAX_POLL_EXCEEDED = ck.KafkaError._MAX_POLL_EXCEEDED
# Of the classic protocol only: another process has come with our instance id. The client keeps
# the broker's own code to itself.
FATAL = ck.KafkaError._FATAL


class KafkaGroupMetadata(GroupMetadata):
    """Hides the client's own object."""

    def __init__(self, of_client: object) -> None:
        self.of_client = of_client


class _Subscription:
    """A consumer in a group: carries out rebalances and tells the listener.

    Assigned: the client first, so that the listener finds the partitions in place. Revoked: the
    listener first, so that it can still commit. Either is done even if the listener raises.
    """

    def __init__(self, conf: Conf) -> None:
        self._errors = PendingErrors()
        self._consumer = make_client(ck.Consumer, {**conf, "error_cb": self._errors.error_cb})
        self._held: set[TopicPartition] = set()
        self._closed = False

    def assignment(self) -> frozenset[TopicPartition]:
        return frozenset(self._held)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with translating("leave the group"):
                self._consumer.close()

    def _subscribe(self, topics: Sequence[str], listener: AssignmentListener) -> None:
        def assign(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
            self._take(consumer, partitions)
            self._held |= to_port(partitions)
            listener.on_assign(to_port(partitions))

        def revoke(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
            self._give_up(consumer, partitions, listener.on_revoke)

        def lose(consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
            self._give_up(consumer, partitions, listener.on_lost)

        with translating("subscribe"):
            self._consumer.subscribe(list(topics), on_assign=assign, on_revoke=revoke, on_lost=lose)

    def _take(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        consumer.incremental_assign(partitions)

    def _give_up(
        self,
        consumer: ck.Consumer,
        partitions: list[ck.TopicPartition],
        tell: Callable[[frozenset[TopicPartition]], None],
    ) -> None:
        try:
            tell(to_port(partitions))
        finally:
            self._held -= to_port(partitions)
            consumer.incremental_unassign(partitions)

    def _note(self, message: ck.Message) -> bool:
        """What came in the place of a record. A member that polled too late hears of it next, by
        `on_lost`; ends of the log are nobody's business here. False: it is no record."""
        error = message.error()
        if error is None or error.code() == PARTITION_EOF:
            return False
        if error.code() == MAX_POLL_EXCEEDED:
            LOG.warning("out of the group: %s", error.str(), extra={"action": "member_too_slow"})
        elif error.code() == FATAL:
            self._errors.add(Die(error.str(), code=FENCED_INSTANCE))
        else:
            self._errors.add(to_error(message, "take part in the group"))
        return False


class KafkaGroupMember(_Subscription):
    """See `tocsin.broker.port.GroupMember`."""

    def join(self, topic: str, listener: AssignmentListener) -> None:
        self._subscribe([topic], listener)

    def poll(self, timeout: float) -> None:
        self._errors.raise_first()
        with translating("take part in the group"):
            message = self._consumer.poll(timeout)
        if message is not None:
            self._note(message)
        self._errors.raise_first()

    def group_metadata(self) -> KafkaGroupMetadata:
        return KafkaGroupMetadata(self._consumer.consumer_group_metadata())

    def _take(self, consumer: ck.Consumer, partitions: list[ck.TopicPartition]) -> None:
        """Nothing is read here, so any valid offset does, and none has to be looked up."""
        places = [ck.TopicPartition(p.topic, p.partition, 0) for p in partitions]
        consumer.incremental_assign(places)
        consumer.pause(places)


class KafkaGroupConsumer(_Subscription):
    """See `tocsin.broker.port.GroupConsumer`."""

    def __init__(self, conf: Conf) -> None:
        super().__init__({**conf, "on_commit": self._on_commit})
        self._gone: set[TopicPartition] = set()

    def subscribe(self, topics: Sequence[str], listener: AssignmentListener) -> None:
        self._subscribe(topics, listener)

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        """Rebalances come in the middle of `consume`: what was read of a partition that went then
        is left out."""
        self._errors.raise_first()
        with translating("read"):
            first = self._consumer.poll(timeout)
            self._gone.clear()
            more = first is not None and max_records > 1
            rest = self._consumer.consume(max_records - 1, 0) if more else []
        messages = rest if first is None else [first, *rest]
        records = [to_record(m) for m in messages if m.error() is None or self._note(m)]
        if self._gone:
            records = [r for r in records if (r.topic, r.partition) not in self._gone]
            self._begin_again(self._gone & self._held)
        if not records:
            self._errors.raise_first()
        return records

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        doing = "commit offsets"
        with translating(doing):
            answers = self._consumer.commit(offsets=to_client_at(offsets), asynchronous=False)
        raise_first(answers, doing)

    def commit_later(self, offsets: Mapping[TopicPartition, int]) -> None:
        with translating("commit offsets"):
            self._consumer.commit(offsets=to_client_at(offsets), asynchronous=True)

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        doing = "read committed offsets"
        with translating(doing):
            answers = self._consumer.committed(to_client(partitions), timeout)
        return committed_of(answers, doing)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        with translating("pause partitions"):
            self._consumer.pause(to_client(self._held.intersection(partitions)))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        with translating("resume partitions"):
            self._consumer.resume(to_client(self._held.intersection(partitions)))

    def _begin_again(self, partitions: Collection[TopicPartition]) -> None:
        """These went and came back within one call: whether a record of theirs was read before or
        after nobody can tell, so all are left out, and read from the committed offset."""
        if partitions:
            with translating("read"):
                self._consumer.incremental_unassign(to_client(partitions))
                self._consumer.incremental_assign(to_client(partitions))

    def _give_up(
        self,
        consumer: ck.Consumer,
        partitions: list[ck.TopicPartition],
        tell: Callable[[frozenset[TopicPartition]], None],
    ) -> None:
        self._gone |= to_port(partitions)
        super()._give_up(consumer, partitions, tell)

    def _on_commit(self, error: ck.KafkaError | None, partitions: list[ck.TopicPartition]) -> None:
        failed = next((p for p in partitions if p.error is not None), None)
        if failed is not None and failed.error is not None:
            place = TopicPartition(failed.topic, failed.partition)
            self._errors.add(translate(failed.error, "commit offsets").at(*place))
        elif error is not None:
            self._errors.add(translate(error, "commit offsets"))
