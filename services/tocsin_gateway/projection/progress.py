"""How far the read model has come, and who waits for it to get somewhere. For any thread."""

from collections import defaultdict
from concurrent.futures import Future
from itertools import chain, islice
from threading import Event, Lock

from tocsin.broker.port import TopicPartition
from tocsin_gateway.projection.writer import Written


class Progress:
    """Written by the projector, awaited by requests."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._reached: dict[TopicPartition, int] = {}
        self._offset_waiters: defaultdict[TopicPartition, list[tuple[int, Future[None]]]] = (
            defaultdict(list)
        )
        self._run_waiters: defaultdict[str, list[Future[None]]] = defaultdict(list)
        self._is_awaited = Event()
        self._topic_waiters: defaultdict[str, list[Future[None]]] = defaultdict(list)
        self.jobs_complete = False
        self.history_complete = False
        self.problem: str | None = None

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
                self._is_awaited.set()
        return future

    def learnt(self, run_id: str) -> Future[None]:
        """Done with the next change of the run in the read model."""
        future: Future[None] = Future()
        with self._lock:
            waiters = self._run_waiters[run_id]
            waiters.append(future)
            self._is_awaited.set()
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

    def await_demand(self, timeout: float) -> bool:
        """Whether a request waits for records or a run; blocks until one does, at most `timeout`
        seconds."""
        return self._is_awaited.wait(timeout)

    @property
    def has_crowd(self) -> bool:
        """Whether several requests wait for records."""
        with self._lock:
            waiting = chain.from_iterable(self._offset_waiters.values())
            return len(list(islice(waiting, 2))) > 1

    def publish(self, written: Written) -> None:
        """A batch has been committed."""
        with self._lock:
            self._reached.update(written.reached)
            ready = [future for tp in written.reached for future in self._take_passed(tp)]
            for topic in self._topic_waiters.keys() & {tp.topic for tp in written.reached}:
                ready += self._topic_waiters.pop(topic)
            if self._run_waiters:
                for run_id in written.runs.keys() & self._run_waiters.keys():
                    ready += self._run_waiters[run_id]
            if not (self._offset_waiters or self._run_waiters):
                self._is_awaited.clear()
        for future in dict.fromkeys(ready):
            if not future.done() and future.set_running_or_notify_cancel():
                future.set_result(None)

    def begin_anew(self) -> None:
        """The read model is being read from other offsets; who waits goes on waiting."""
        with self._lock:
            self._reached.clear()

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
