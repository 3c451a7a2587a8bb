"""How far the read model has come, and who waits for it to get somewhere. For any thread."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from enum import IntEnum
from itertools import chain, islice
from threading import Lock

from tocsin.broker.port import TopicPartition


class Demand(IntEnum):
    """How many wait for what is not in the read model yet."""

    NONE = 0
    ONE = 1
    CROWD = 2


class Progress:
    """Told by the projector, awaited by requests."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._reached: dict[TopicPartition, int] = {}
        self._offset_waiters: defaultdict[TopicPartition, list[tuple[int, Future[None]]]] = (
            defaultdict(list)
        )
        self._run_waiters: defaultdict[str, list[Future[None]]] = defaultdict(list)
        self._on_demand: Callable[[Demand], None] = lambda _: None
        self._demand = Demand.NONE
        self._topic_waiters: defaultdict[str, list[Future[None]]] = defaultdict(list)
        self.jobs_complete = False
        self.history_complete = False
        self.problem: str | None = None

    def listen(self, on_demand: Callable[[Demand], None]) -> None:
        """From now on tell when the demand changes; that must not block."""
        self._on_demand = on_demand

    def passed(self, partition: TopicPartition, offset: int) -> Future[None]:
        """Done when the record at `offset` is in the read model."""
        future: Future[None] = Future()
        with self._lock:
            if self._reached.get(partition, 0) > offset:
                future.set_result(None)
            else:
                waiters = self._offset_waiters[partition]
                waiters[:] = [(at, other) for at, other in waiters if not other.done()]
                waiters.append((offset, future))
                self._count()
        return future

    def learnt(self, run_id: str) -> Future[None]:
        """Done with the next change of the run in the read model."""
        future: Future[None] = Future()
        with self._lock:
            waiters = self._run_waiters[run_id]
            waiters.append(future)
            self._count()
        future.add_done_callback(lambda _: self._forget(run_id, future))
        return future

    def reached(self, topic: str) -> tuple[int, ...]:
        """The next offset in each partition; empty while they are not known."""
        with self._lock:
            return tuple(self._reached[tp] for tp in sorted(self._reached) if tp.topic == topic)

    def moved(self, *topics: str) -> Future[None]:
        """Done when more of one of the topics is in the read model."""
        future: Future[None] = Future()
        with self._lock:
            for topic in topics:
                waiters = self._topic_waiters[topic]
                waiters[:] = [other for other in waiters if not other.done()]
                waiters.append(future)
        return future

    @property
    def demand(self) -> Demand:
        return self._demand

    def publish(self, reached: Mapping[TopicPartition, int], runs: Iterable[str] = ()) -> None:
        """A batch has been committed: next offsets, and the runs that it changed."""
        with self._lock:
            self._reached.update(reached)
            ready = [future for tp in reached for future in self._take_passed(tp)]
            for topic in self._topic_waiters.keys() & {tp.topic for tp in reached}:
                ready += self._topic_waiters.pop(topic)
            if self._run_waiters:
                for run_id in self._run_waiters.keys() & set(runs):
                    ready += self._run_waiters[run_id]
            self._count()
        for future in dict.fromkeys(ready):
            if not future.done() and future.set_running_or_notify_cancel():
                future.set_result(None)

    def begin_anew(self) -> None:
        """The read model is being read from other offsets; who waits goes on waiting."""
        with self._lock:
            self._reached.clear()

    def _count(self) -> None:
        waiters = chain.from_iterable(self._offset_waiters.values())
        waiting = len(list(islice((1 for _, future in waiters if not future.done()), 2)))
        demand = Demand(max(waiting, 1 if self._run_waiters else 0))
        if demand != self._demand:
            self._demand = demand
            self._on_demand(demand)

    def _take_passed(self, partition: TopicPartition) -> list["Future[None]"]:
        waiters = self._offset_waiters.pop(partition, None)
        if waiters is None:
            return []
        reached = self._reached[partition]
        left = [(at, future) for at, future in waiters if at >= reached and not future.done()]
        if left:
            self._offset_waiters[partition] = left
        return [future for at, future in waiters if at < reached]

    def _forget(self, run_id: str, future: "Future[None]") -> None:
        with self._lock:
            waiters = self._run_waiters[run_id]
            if future in waiters:
                waiters.remove(future)
            if not waiters:
                del self._run_waiters[run_id]
            self._count()
