"""Between the client's own types and the port's."""

from collections.abc import Collection, Mapping

import confluent_kafka as ck

from tocsin.broker.errors import BrokerError
from tocsin.broker.kafka.translate import translate
from tocsin.broker.port import Committed, Headers, Record, TopicPartition


def to_record(message: ck.Message) -> Record:
    """A message without an error. A header without a value counts as empty."""
    headers = message.headers()
    pairs = _headers(headers) if headers else []
    key, value, at = message.key(), message.value(), message.timestamp()[1]
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    # A consumed message has a place; that is not asked again for each of millions.
    return Record(topic, partition, offset, at, key, value, pairs)  # type: ignore[arg-type]


def place_of(message: ck.Message) -> TopicPartition | None:
    """The partition that a record or an event is about, if it is about one."""
    topic, partition = message.topic(), message.partition()
    if topic is None or partition is None or partition < 0:
        return None
    return TopicPartition(topic, partition)


def to_error(message: ck.Message, doing: str) -> BrokerError:
    """The error that came in the place of a record."""
    error = message.error()
    assert error is not None
    offset = message.offset()
    place = place_of(message)
    return translate(
        error,
        doing,
        topic=message.topic(),
        partition=None if place is None else place.partition,
        offset=offset if offset is not None and offset >= 0 else None,
    )


def to_client(partitions: Collection[TopicPartition]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(topic, partition) for topic, partition in partitions]


def to_client_at(offsets: Mapping[TopicPartition, int]) -> list[ck.TopicPartition]:
    return [ck.TopicPartition(*tp, offset) for tp, offset in offsets.items()]


def to_port(partitions: Collection[ck.TopicPartition]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(p.topic, p.partition) for p in partitions)


def offsets_of(answers: Collection[ck.TopicPartition], doing: str) -> dict[TopicPartition, int]:
    """One offset a partition; raises the first partition's error."""
    raise_first(answers, doing)
    return {TopicPartition(a.topic, a.partition): a.offset for a in answers}


def committed_of(
    answers: Collection[ck.TopicPartition], doing: str
) -> dict[TopicPartition, Committed]:
    """Offset and metadata a partition; raises the first partition's error."""
    raise_first(answers, doing)
    return {
        TopicPartition(a.topic, a.partition): Committed(
            a.offset if a.offset >= 0 else None, a.metadata or ""
        )
        for a in answers
    }


def raise_first(answers: Collection[ck.TopicPartition], doing: str) -> None:
    """Raises the error of the first partition that has one."""
    for answer in answers:
        if answer.error is not None:
            raise translate(answer.error, doing, topic=answer.topic, partition=answer.partition)


def _headers(headers: object) -> Headers:
    assert isinstance(headers, list)
    return [(name, value or b"") for name, value in headers]
