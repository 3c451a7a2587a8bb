"""The thread that follows what all workers are told: cancels, and one another's reports."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import closing
from threading import Event, Thread
from typing import Protocol, TypeVar

from tocsin.broker.errors import BrokerError, Die, Rebuild, Retry
from tocsin.broker.port import Cluster, LogReader, Record, TopicPartition
from tocsin.broker.refused import log_refused
from tocsin.model.runs import Cancel, Worker
from tocsin.model.values import Value
from tocsin.wire import codec
from tocsin.wire.codec import Codec, WireError
from tocsin.wire.topics import Topics
from tocsin_worker.threads import Teller, ended

LOG = logging.getLogger(__name__)

_V = TypeVar("_V", bound=Value)

_BATCH = 1_000
_POLL_SECONDS = 0.1
_RETRY_SECONDS = 0.5
_ANSWER_SECONDS = 10.0


class FollowerEvents(Protocol):
    """Told on the event loop, in the order of the log."""

    def cancelled(self, cancels: list[tuple[Cancel, int]]) -> None:
        """Cancels with their append times."""

    def reported(self, workers: list[Worker]) -> None: ...

    def caught_up(self) -> None:
        """All cancels that stood in the log when the follower started have been told."""

    def undecodable(self, topic: str) -> None: ...

    def failed(self, error: BrokerError) -> None:
        """No repetition helps; the follower has ended."""


class Follower:
    """Reads `cancels` from its beginning and `workers` from its end, as long as it runs."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Topics,
        events: FollowerEvents,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._events = events
        self._tell = Teller(loop)
        self._stopping = Event()
        self._thread = Thread(target=self._run, name=f"follows {topics.cancels}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Does not wait."""
        self._stopping.set()

    def join(self, seconds: float) -> bool:
        """See `threads.ended`."""
        return ended(self._thread, seconds)

    def _run(self) -> None:
        try:
            with closing(self._cluster.log_reader(is_patient=True)) as reader:
                behind = self._begin(reader)
                while not self._stopping.is_set():
                    behind = self._turn(reader, behind)
        except BrokerError as error:
            self._tell(self._events.failed, error)
        except Exception as error:
            LOG.exception("following cancels and workers", extra={"action": "follower_failed"})
            self._tell(self._events.failed, Die(f"following cancels and workers: {error}"))

    def _begin(self, reader: LogReader) -> set[TopicPartition] | None:
        """Assign everything; the partitions of `cancels` that are still to be read to an end."""
        while not self._stopping.is_set():
            try:
                cancels, workers = self._places()
                starts = reader.begin_offsets(cancels, _ANSWER_SECONDS)
                reader.assign({**starts, **reader.end_offsets(workers, _ANSWER_SECONDS)})
            except Retry as error:
                self._pause(error)
            else:
                return set(cancels)
        return None

    def _places(self) -> tuple[list[TopicPartition], list[TopicPartition]]:
        """All partitions of both topics; raises `Die` if one is missing."""
        names = (self._topics.cancels, self._topics.workers)
        found = self._cluster.topics(names, _ANSWER_SECONDS)
        for name in names:
            if name not in found:
                raise Die("the topic does not exist: run `tocsin topics apply`").at(name)
        cancels, workers = (
            [TopicPartition(name, number) for number in range(found[name].partitions)]
            for name in names
        )
        return cancels, workers

    def _turn(
        self, reader: LogReader, behind: set[TopicPartition] | None
    ) -> set[TopicPartition] | None:
        """Read a batch; `behind` is None once the cancels have been read to their end."""
        self._hand_over(self._poll(reader))
        ends = reader.take_ends()
        if behind is None or behind - ends.keys():
            return None if behind is None else behind - ends.keys()
        self._tell(self._events.caught_up)
        return None

    def _poll(self, reader: LogReader) -> list[Record]:
        try:
            return reader.poll_batch(_BATCH, _POLL_SECONDS)
        except Rebuild as error:
            self._skip_deleted(reader, error)
        except Retry as error:
            self._pause(error)
        return []

    def _skip_deleted(self, reader: LogReader, error: Rebuild) -> None:
        """Retention has overtaken the reader: go on with what the log still has."""
        extra = {"action": "retention_overtook"}
        LOG.warning("reading on at the beginning of the log: %s", error, extra=extra)
        assert error.topic is not None
        assert error.partition is not None
        place = TopicPartition(error.topic, error.partition)
        while not self._stopping.is_set():
            try:
                reader.assign(reader.begin_offsets([place], _ANSWER_SECONDS))
            except Retry as passing:
                self._pause(passing)
            else:
                return

    def _hand_over(self, records: list[Record]) -> None:
        cancels = list(self._decoded(codec.CANCEL, records, self._topics.cancels))
        workers = [w for w, _ in self._decoded(codec.WORKER, records, self._topics.workers)]
        if cancels:
            self._tell(self._events.cancelled, cancels)
        if workers:
            self._tell(self._events.reported, workers)

    def _decoded(
        self, kind: Codec[_V], records: Iterable[Record], topic: str
    ) -> Iterable[tuple[_V, int]]:
        """Values with their append times. Tombstones of workers say nothing: reports age."""
        for record in records:
            is_farewell = record.value is None and topic == self._topics.workers
            if record.topic != topic or is_farewell:
                continue
            try:
                yield kind.decode(record.value or b""), record.timestamp
            except WireError as error:
                log_refused(record, error)
                self._tell(self._events.undecodable, record.topic)

    def _pause(self, error: Retry) -> None:
        LOG.warning(
            "following cancels and workers: %s", error, extra={"action": "follower_retries"}
        )
        self._stopping.wait(_RETRY_SECONDS)
