"""The same world twice: a cluster in memory and a real one, with what their owners can do."""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Protocol, TypeVar

from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import AlterConfigOpType, ConfigEntry, ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic

from tocsin import clock
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import (
    Cluster,
    GroupConsumer,
    GroupMember,
    Isolation,
    LogReader,
    Producer,
    Record,
    ShareConsumer,
    TopicPartition,
    TransactionalProducer,
)
from tocsin.testing import MemoryCluster

Closes = TypeVar(
    "Closes",
    LogReader,
    Producer,
    TransactionalProducer,
    GroupMember,
    GroupConsumer,
    ShareConsumer,
)

PATIENCE = 30.0
"""Seconds that something may take on a busy machine before it counts as never."""

EAGERLY_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0",
    "max.compaction.lag.ms": "1",
    "delete.retention.ms": "0",
}
SET = AlterConfigOpType.SET

HASTY = {"max.poll.interval.ms": 6_000, "session.timeout.ms": 6_000}


class Admin(Protocol):
    """What an operator and a broker's background work do to the log."""

    def create_topic(self, name: str, partitions: int, *, compacted: bool) -> None: ...
    def truncate(self, place: TopicPartition, begin: int) -> None: ...
    def compact(self, topic: str) -> None:
        """Compact, tombstones too; on the real broker it takes a moment."""

    def put_out(self, idle: GroupMember | GroupConsumer) -> None:
        """Let a member's time be up; on the real broker that takes polls of the others."""


class MemoryAdmin:
    def __init__(self, cluster: MemoryCluster) -> None:
        self._cluster = cluster

    def create_topic(self, name: str, partitions: int, *, compacted: bool) -> None:
        self._cluster.create_topic(name, partitions, compacted=compacted)

    def truncate(self, place: TopicPartition, begin: int) -> None:
        self._cluster.truncate(*place, begin)

    def compact(self, topic: str) -> None:
        self._cluster.compact(topic, 0, drop_tombstones=True)

    def put_out(self, idle: GroupMember | GroupConsumer) -> None:
        idle.expire()  # type: ignore[union-attr]


class KafkaAdmin:
    def __init__(self, bootstrap: str) -> None:
        conf: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "logger": logging.getLogger(__name__),
        }
        self._client = AdminClient(conf)

    def create_topic(self, name: str, partitions: int, *, compacted: bool) -> None:
        config = {
            "message.timestamp.type": "LogAppendTime",
            **(EAGERLY_COMPACTED if compacted else {}),
        }
        topic = NewTopic(name, partitions, 1, config=config)
        self._client.create_topics([topic])[name].result(PATIENCE)
        until(lambda: self._shows(name), lambda: None)

    def _shows(self, name: str) -> bool:
        return self._client.list_topics(name, PATIENCE).topics[name].error is None

    def truncate(self, place: TopicPartition, begin: int) -> None:
        wanted = ClientTopicPartition(*place, begin)
        for answer in self._client.delete_records([wanted]).values():
            answer.result(PATIENCE)

    def compact(self, topic: str) -> None:
        """The broker does so by itself, once its cleaner looks more often than every 15 s."""
        entry = ConfigEntry("log.cleaner.backoff.ms", "200", incremental_operation=SET)
        brokers = [
            ConfigResource(ResourceType.BROKER, str(node), incremental_configs=[entry])
            for node in self._client.list_topics(timeout=PATIENCE).brokers
        ]
        for answer in self._client.incremental_alter_configs(brokers).values():
            answer.result(PATIENCE)

    def put_out(self, idle: GroupMember | GroupConsumer) -> None:
        """The broker does so by itself, as `HASTY` members do not poll for 6 s."""


class World:
    """A cluster, names that nobody else uses, and roles that are closed at the end."""

    def __init__(self, cluster: Cluster, admin: Admin, prefix: str) -> None:
        self.cluster = cluster
        self.admin = admin
        self.prefix = prefix
        self.group = f"{prefix}.group"
        self._names = 0
        self._open = ExitStack()

    def close(self) -> None:
        self._open.close()

    def new_name(self, kind: str) -> str:
        self._names += 1
        return f"{self.prefix}.{kind}{self._names}"

    def topic(self, partitions: int = 1, *, compacted: bool = False) -> str:
        name = self.new_name("topic")
        self.admin.create_topic(name, partitions, compacted=compacted)
        return name

    def place(self) -> TopicPartition:
        """The only partition of a new topic."""
        return TopicPartition(self.topic(), 0)

    def reader(self, isolation: Isolation = Isolation.COMMITTED) -> LogReader:
        return self._keep(self.cluster.log_reader(self.group, isolation=isolation))

    def producer(self) -> Producer:
        return self._keep(self.cluster.producer())

    def transactional(self, transactional_id: str | None = None) -> TransactionalProducer:
        """Initialised."""
        name = transactional_id or self.new_name("tx")
        producer = self._keep(self.cluster.transactional_producer(name))
        producer.init(PATIENCE)
        return producer

    def member(self, instance_id: str | None = None) -> GroupMember:
        return self._keep(self.cluster.group_member(self.group, instance_id=instance_id))

    def consumer(self, instance_id: str | None = None) -> GroupConsumer:
        return self._keep(self.cluster.group_consumer(self.group, instance_id=instance_id))

    def share(self, group: str, topic: str, max_records: int) -> ShareConsumer:
        return self._keep(self.cluster.share_consumer(group, topic, max_records=max_records))

    def write(self, place: TopicPartition, *values: bytes) -> list[int]:
        """The offsets of these values, written one by one outside any transaction."""
        producer = self.producer()
        reports = [producer.send(place.topic, b"k", v, place.partition) for v in values]
        assert producer.flush(PATIENCE) == 0
        offsets = [report.result().offset for report in reports]
        return [offset for offset in offsets if offset is not None]

    def write_aborted(self, place: TopicPartition, *values: bytes) -> None:
        producer = self.transactional()
        producer.begin()
        for value in values:
            producer.produce(place.topic, b"k", value, place.partition)
        producer.flush(PATIENCE)
        producer.abort(PATIENCE)

    def _keep(self, role: Closes) -> Closes:
        return self._open.enter_context(closing(role))


def memory_world(prefix: str) -> World:
    cluster = MemoryCluster()
    return World(cluster, MemoryAdmin(cluster), prefix)


def kafka_world(bootstrap: str, prefix: str) -> World:
    cluster = KafkaCluster(bootstrap, HASTY, client_id=prefix)
    return World(cluster, KafkaAdmin(bootstrap), prefix)


@contextmanager
def opened(world: World) -> Iterator[World]:
    with closing(world):
        yield world


def until(condition: Callable[[], bool], step: Callable[[], object]) -> None:
    """Take steps until the condition holds; fails the test if it never does."""
    deadline = clock.monotonic_ms() + PATIENCE * 1000
    while not condition():
        assert clock.monotonic_ms() < deadline, "it never came to be"
        step()


def poll_all(*members: GroupMember) -> None:
    """One short poll of each."""
    for member in members:
        member.poll(0.05)


def read(reader: LogReader | GroupConsumer, count: int) -> list[Record]:
    """The next `count` records, or more if they come in one batch."""
    records: list[Record] = []
    until(lambda: len(records) >= count, lambda: records.extend(reader.poll_batch(1000, 0.1)))
    return records


def values(records: Collection[Record]) -> list[bytes | None]:
    return [record.value for record in records]
