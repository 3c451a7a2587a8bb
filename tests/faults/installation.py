"""Topics of their own on a real broker, and what a user would put there."""

import json
from collections.abc import Collection, Iterable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from itertools import count
from typing import NamedTuple

import msgspec

from tests.faults.waiting import until
from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.errors import Retry
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import Delivered, Isolation, LogReader, TopicPartition
from tocsin.model.jobs import CatchUp, Handler, Job, Overlap
from tocsin.timetable import ScheduleFields
from tocsin.timetable.instants import format_instant
from tocsin.wire.codec import JOB
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

PARTITIONS = 8
REQUEST_S = 60.0
SECOND_MS = 1_000
DAY_MS = 24 * 3_600 * SECOND_MS

NEVER_LATE = CatchUp(policy="all", after_ms=DAY_MS)
"""However long an outage, no occurrence of such a job belongs to a backlog."""


class Created(NamedTuple):
    """A job in the log: its partition, and the log's own time of its record."""

    job: Job
    partition: int
    append_ms: int


class Installation:
    """`close` it at last. `created`: all jobs by job id. `gone`: ids of those that went with a
    jobs topic; they may run for a while, and nobody has to see to it."""

    def __init__(self, bootstrap: str, prefix: str, replication: int = 1) -> None:
        self.topics = Topics(prefix)
        self.cluster = KafkaCluster(bootstrap)
        self.created: dict[str, Created] = {}
        self.gone: set[str] = set()
        self._replication = replication
        self._admin = TopicAdmin(bootstrap, timeout=REQUEST_S)
        self.make_topics()
        self._producer = self.cluster.producer()
        self._stable = self.cluster.log_reader(isolation=Isolation.COMMITTED)
        self._hasty = self.cluster.log_reader(isolation=Isolation.UNCOMMITTED)
        self._numbers = count()

    def close(self) -> None:
        for client in (self._producer, self._stable, self._hasty):
            client.close()

    def make_topics(self) -> None:
        """Those that are not there."""
        specs = shipped_topics().expand(
            self.topics, partitions=PARTITIONS, replication=self._replication
        )
        self._admin.apply(self._admin.plan(specs))

    def put(self, jobs: Iterable[Job]) -> None:
        """Create jobs; they are in the log when this returns."""
        for job in jobs:
            key = str(job.key).encode()
            report = self._producer.send(self.topics.jobs, key, JOB.encode(job))
            report.add_done_callback(partial(self._note, job))
        assert self._producer.flush(REQUEST_S) == 0

    def every_second(
        self, number: int, overlap: Overlap, payload: bytes | None = None
    ) -> list[Job]:
        """Jobs that are due each second, each at a moment of its own, from a second on."""
        begin = clock.now_ms() + SECOND_MS
        moments = (begin + n * SECOND_MS // number for n in range(number))
        jobs = (
            self._job(ScheduleFields(every_ms=SECOND_MS, start=moment), overlap=overlap)
            for moment in moments
        )
        return [msgspec.structs.replace(job, payload=payload) for job in jobs]

    def load(self) -> list[Job]:
        """Several hundred occurrences a second. Where nothing works, the first run of those that
        may not overlap never ends, and their further occurrences are events."""
        return [*self.every_second(240, "allow_all"), *self.every_second(80, "skip")]

    def mixed_load(self) -> list[Job]:
        """Some hundred occurrences a second, of each policy for those that overlap."""
        counts: dict[Overlap, int] = {
            "allow_all": 120,
            "skip": 80,
            "buffer_one": 40,
            "buffer_all": 20,
            "cancel_other": 20,
            "terminate_other": 20,
        }
        return [job for overlap, n in counts.items() for job in self.every_second(n, overlap)]

    def calls(self, number: int, url: str) -> list[Job]:
        """One-offs, due at once, that call a URL. Of half of them the scheduler's state knows
        nothing until a worker claims them."""
        at = ScheduleFields(at=format_instant(clock.now_ms()))
        handler = Handler(type="http", config=json.dumps({"url": url}).encode())
        overlaps: tuple[Overlap, Overlap] = ("skip", "allow_all")
        return [self._job(at, handler, overlaps[n % 2]) for n in range(number)]

    def one_offs(self, number: int) -> list[Job]:
        """Jobs that are due at once and do nothing."""
        at = ScheduleFields(at=format_instant(clock.now_ms()))
        return [self._job(at, overlap="allow_all") for _ in range(number)]

    def stubborn(self) -> Job:
        """A one-off, due at once, that ends for nobody."""
        at = ScheduleFields(at=format_instant(clock.now_ms()))
        return self._job(at, Handler(type="stubborn"))

    def burst(self, number: int, in_ms: int) -> list[Job]:
        """Jobs that are due at one instant, and do nothing; no others are of high priority."""
        at = ScheduleFields(at=format_instant(clock.now_ms() + in_ms))
        jobs = (self._job(at, overlap="allow_all") for _ in range(number))
        return [msgspec.structs.replace(job, priority="high") for job in jobs]

    def open_transactions(self, partitions: Collection[int]) -> dict[int, int]:
        """Partitions whose events have an open transaction, and the offset where it begins."""
        places = [TopicPartition(self.topics.events, partition) for partition in partitions]
        stable = self._stable.end_offsets(places, REQUEST_S)
        ends = self._hasty.end_offsets(places, REQUEST_S)
        return {tp.partition: stable[tp] for tp in places if stable[tp] < ends[tp]}

    def high_watermarks(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends, open transactions included; waits while the broker is away."""

        return _ends(self._hasty, places)

    def stable_offsets(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The ends before the first open transaction; waits while the broker is away."""
        return _ends(self._stable, places)

    def _note(self, job: Job, report: Future[Delivered]) -> None:
        delivered = report.result()
        self.created[job.job_id] = Created(job, delivered.partition, delivered.timestamp)

    def _job(
        self,
        schedule: ScheduleFields,
        handler: Handler = Handler(type="noop"),  # noqa: B008 — frozen
        overlap: Overlap = "skip",
    ) -> Job:
        return Job(
            tenant="default",
            job_id=f"{overlap.replace('_', '-')}-{next(self._numbers)}",
            schedule=schedule,
            handler=handler,
            overlap=overlap,
            catch_up=NEVER_LATE,
            status="active",
        )


def _ends(reader: LogReader, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
    def ends() -> dict[TopicPartition, int]:
        with suppress(Retry):
            return reader.end_offsets(places, REQUEST_S)
        return {}

    return until(ends, "the ends of the log")
