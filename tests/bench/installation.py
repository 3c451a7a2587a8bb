"""One installation of Tocsin: its topics, what is written to and read from them, its services."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.bench.run_log import RunLog
from tests.bench.services import READY_S, Kind, Service, running
from tests.bench.waiting import until
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import Isolation, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.model.jobs import Job
from tocsin.model.runs import Outcome, Run
from tocsin.wire.codec import JOB, OUTCOME, RUN
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

PARTITIONS = 8
_REQUEST_S = 30.0
_PROJECTION_S = 3_600.0
_STILL_S = 1.5


class Installation:
    """Its topics are there once it is built."""

    def __init__(self, bootstrap: str, prefix: str, folder: Path) -> None:
        self.bootstrap = bootstrap
        self.topics = Topics(prefix)
        self.folder = folder
        self.cluster = KafkaCluster(bootstrap, client_id="tocsin-bench")
        self._numbers = count(1)
        self._producer = self.cluster.producer()
        self._offsets = self.cluster.log_reader(
            self.topics.scheduler_group, isolation=Isolation.UNCOMMITTED
        )
        admin = TopicAdmin(bootstrap)
        specs = shipped_topics().expand(self.topics, partitions=PARTITIONS, replication=1)
        admin.apply(admin.plan(specs))

    def close(self) -> None:
        self._producer.close()
        self._offsets.close()

    # services

    @contextmanager
    def scheduler(self, *, ready_s: float = READY_S, **settings: str) -> Iterator[Service]:
        """At work within so many seconds, ended after the block. `settings`: see `start`."""
        with running(self.start("scheduler", **settings), ready_s) as service:
            yield service

    @contextmanager
    def worker(self, **settings: str) -> Iterator[Service]:
        with running(self.start("worker", **settings)) as service:
            yield service

    @contextmanager
    def gateway(self, *, ready_s: float = READY_S, **settings: str) -> Iterator[Service]:
        with running(self.start("gateway", **settings), ready_s) as service:
            yield service

    def start(self, kind: Kind, **settings: str) -> Service:
        """Start a process, not waiting for it; `settings` are those of the environment, without
        their prefix."""
        environ = {
            "TOCSIN_BROKERS": self.bootstrap,
            "TOCSIN_PREFIX": self.topics.prefix,
            "TOCSIN_STATE_DIR": str(self.folder),
            **{f"TOCSIN_{name}": value for name, value in settings.items()},
        }
        return Service(kind, environ, self.folder / f"{kind}-{next(self._numbers)}.log")

    # what users and workers write

    def put(self, jobs: Iterable[Job]) -> None:
        """Whole definitions in Avro, as the gateway writes them; all are in the log afterwards."""
        self._write(self.topics.jobs, ((str(job.key).encode(), JOB.encode(job)) for job in jobs))

    def emit(self, runs: Iterable[Run]) -> None:
        """As a scheduler does, all of normal priority, but without transactions."""
        records = ((run.run_id.encode(), RUN.encode(run)) for run in runs)
        self._write(self.topics.runs("normal"), records)

    def say(self, outcomes: Iterable[Outcome]) -> None:
        """As workers do."""
        self._write(
            self.topics.outcomes,
            ((str(outcome.key).encode(), OUTCOME.encode(outcome)) for outcome in outcomes),
        )

    def _write(self, topic: str, records: Iterable[tuple[bytes, bytes]]) -> None:
        failures: list[object] = []

        def reported(report: object) -> None:
            if isinstance(report, Exception):
                failures.append(report)

        for key, value in records:
            self._producer.produce(topic, key, value, on_delivery=reported)
        left = self._producer.flush(_REQUEST_S)
        if left or failures:
            raise RuntimeError(f"{topic}: {left} records without a report, failed: {failures[:1]}")

    # what the scheduler has done

    def wait_until_applied(self, patience_s: float = 600.0) -> None:
        """Until the scheduler has committed all that is in its three sources now."""
        topics = self.topics
        ends = self.ends(topics.jobs) | self.ends(topics.signals) | self.ends(topics.outcomes)
        until(
            lambda: self.are_applied(ends),
            "the scheduler has applied everything",
            patience_s=patience_s,
        )

    def are_applied(self, ends: Mapping[TopicPartition, int]) -> bool:
        """Whether the scheduler has committed offsets as high as these."""
        applied = self.applied(ends.keys())
        return all(applied[place] >= end for place, end in ends.items())

    def applied(self, places: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """The offsets that the scheduler has committed."""
        found = self._offsets.committed(places, _REQUEST_S)
        return {place: committed.offset or 0 for place, committed in found.items()}

    def wait_until_projected(self, gateway: Service) -> None:
        """Until the read model has stood still for a moment."""
        before = -1.0

        def stands_still() -> bool:
            nonlocal before
            last, before = before, gateway.metric("tocsin_projection_records_total")
            return before == last

        until(
            stands_still,
            "the gateway has projected everything",
            patience_s=_PROJECTION_S,
            every_s=_STILL_S,
        )

    def wait_for_outcomes(self, number: int) -> None:
        """Until at least so many stand in the log, and no more come."""
        before = 0

        def all_are_there() -> bool:
            nonlocal before
            last, before = before, sum(self.ends(self.topics.outcomes).values())
            return last == before >= number

        until(all_are_there, f"{number} outcomes are in the log", every_s=_STILL_S)

    # what stands in the log

    def ends(self, topic: str) -> dict[TopicPartition, int]:
        """The high watermarks: as many as records were written, where nothing is transactional."""
        return self._offsets.end_offsets(self.places(topic), _REQUEST_S)

    def outcomes(
        self, start: Mapping[TopicPartition, int] | None = None
    ) -> Iterator[tuple[TopicPartition, int, Outcome]]:
        """Place, offset and value of those in the log, from the beginning or from there on."""
        reader = self.cluster.log_reader()
        beginning = dict.fromkeys(self.places(self.topics.outcomes), 0)
        try:
            for batch in read_to_end(reader, start or beginning):
                for record in batch:
                    place = TopicPartition(record.topic, record.partition)
                    yield place, record.offset, OUTCOME.decode(record.value or b"")
        finally:
            reader.close()

    @contextmanager
    def run_log(self) -> Iterator[RunLog]:
        """All runs, from the first on."""
        log = RunLog(self.cluster, self.topics, PARTITIONS)
        try:
            yield log
        finally:
            log.close()

    def places(self, topic: str) -> Collection[TopicPartition]:
        return [TopicPartition(topic, number) for number in range(PARTITIONS)]
