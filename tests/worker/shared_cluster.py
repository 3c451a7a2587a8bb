"""The in-memory cluster for several threads: calls take turns, and polls wait for news."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Condition
from typing import TypeVar, cast

from tocsin.broker.port import (
    LINGER_MS,
    AssignmentListener,
    Cluster,
    Committed,
    DeliveryCallback,
    LogReader,
    Producer,
    Record,
    RecordPlace,
    TopicInfo,
    TopicPartition,
)
from tocsin.testing import MemoryCluster
from tocsin.testing.members import MemoryGroupConsumer
from tocsin.testing.shares import MemoryShareConsumer

_T = TypeVar("_T")


class Turns:
    """Who may use the cluster now, and who waits for something new in it."""

    def __init__(self) -> None:
        self._condition = Condition()

    @contextmanager
    def mine(self) -> Iterator[None]:
        with self._condition:
            yield

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Let others go on while a listener waits for them."""
        self._condition.release()
        try:
            yield
        finally:
            self._condition.acquire()

    def news(self) -> None:
        with self._condition:
            self._condition.notify_all()

    def wait_for(self, poll: Callable[[], _T], timeout: float) -> _T:
        """What `poll` answers: at once if it is something, else after news or `timeout`."""
        with self._condition:
            answer = poll()
            if not answer and self._condition.wait(timeout):
                answer = poll()
            return answer


class _Listener:
    def __init__(self, listener: AssignmentListener, turns: Turns) -> None:
        self._listener = listener
        self._turns = turns

    def on_assign(self, partitions: frozenset[TopicPartition]) -> None:
        self._listener.on_assign(partitions)

    def on_revoke(self, partitions: frozenset[TopicPartition]) -> None:
        with self._turns.given_up():
            self._listener.on_revoke(partitions)
        self._turns.news()

    def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        self._listener.on_lost(partitions)


class SharedConsumer:
    """See `tocsin.broker.port.GroupConsumer`."""

    def __init__(self, consumer: MemoryGroupConsumer, turns: Turns) -> None:
        self.consumer = consumer
        self.paused = False
        self._turns = turns

    def subscribe(self, topics: Sequence[str], listener: AssignmentListener) -> None:
        with self._turns.mine():
            self.consumer.subscribe(topics, _Listener(listener, self._turns))
        self._turns.news()

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        return self._turns.wait_for(lambda: self.consumer.poll_batch(max_records, 0), timeout)

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        with self._turns.mine():
            self.consumer.commit(offsets)

    def commit_later(self, offsets: Mapping[TopicPartition, int]) -> None:
        with self._turns.mine():
            self.consumer.commit_later(offsets)

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        with self._turns.mine():
            return self.consumer.committed(partitions, timeout)

    def assignment(self) -> frozenset[TopicPartition]:
        with self._turns.mine():
            return self.consumer.assignment()

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        with self._turns.mine():
            self.consumer.pause(partitions)
            self.paused = True

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        with self._turns.mine():
            self.consumer.resume(partitions)
            self.paused = False

    def close(self) -> None:
        with self._turns.mine():
            self.consumer.close()
        self._turns.news()


class _SharedShareConsumer:
    """See `tocsin.broker.port.ShareConsumer`."""

    def __init__(self, consumer: MemoryShareConsumer, turns: Turns) -> None:
        self._consumer = consumer
        self._turns = turns

    def poll_batch(self, timeout: float) -> list[Record]:
        return self._turns.wait_for(lambda: self._consumer.poll_batch(0), timeout)

    def accept(self, places: Collection[RecordPlace]) -> None:
        with self._turns.mine():
            self._consumer.accept(places)

    def close(self) -> None:
        with self._turns.mine():
            self._consumer.close()
        self._turns.news()


class _SharedReader:
    """A `LogReader` whose polls wait. The rest is one thread's own."""

    def __init__(self, reader: LogReader, turns: Turns) -> None:
        self._reader = reader
        self._turns = turns

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        return self._turns.wait_for(lambda: self._reader.poll_batch(max_records, 0), timeout)

    def __getattr__(self, name: str) -> object:
        return getattr(self._reader, name)


class _SharedProducer:
    """A `Producer` that wakes up those who wait. The rest is one thread's own."""

    def __init__(self, producer: Producer, turns: Turns) -> None:
        self._producer = producer
        self._turns = turns

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        with self._turns.mine():
            self._producer.produce(topic, key, value, on_delivery=on_delivery)
        self._turns.news()

    def __getattr__(self, name: str) -> object:
        return getattr(self._producer, name)


class SharedCluster:
    """See `tocsin.broker.port.Cluster`: what a worker uses of it, for any number of threads."""

    def __init__(self, memory: MemoryCluster) -> None:
        self.memory = memory
        self.consumers: list[SharedConsumer] = []
        self._turns = Turns()

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is written to `memory` in this block others see together."""
        with self._turns.mine():
            yield
        self._turns.news()

    def group_consumer(self, group: str) -> SharedConsumer:
        with self._turns.mine():
            self.consumers.append(SharedConsumer(self.memory.group_consumer(group), self._turns))
            return self.consumers[-1]

    def share_consumer(self, group: str, topic: str, *, max_records: int) -> _SharedShareConsumer:
        with self._turns.mine():
            consumer = self.memory.share_consumer(group, topic, max_records=max_records)
            return _SharedShareConsumer(consumer, self._turns)

    def log_reader(self, *, is_patient: bool = False) -> _SharedReader:
        with self._turns.mine():
            return _SharedReader(self.memory.log_reader(), self._turns)

    def producer(self, *, linger_ms: int = LINGER_MS) -> _SharedProducer:
        return _SharedProducer(self.memory.producer(), self._turns)

    def topics(self, names: Collection[str], timeout: float) -> dict[str, TopicInfo]:
        with self._turns.mine():
            return self.memory.topics(names, timeout)


def shared(memory: MemoryCluster) -> Cluster:
    """The cluster as a worker's threads may use it."""
    return cast("Cluster", SharedCluster(memory))


def at_once(cluster: Cluster) -> AbstractContextManager[None]:
    """See `SharedCluster.at_once`."""
    return cast("SharedCluster", cluster).at_once()
