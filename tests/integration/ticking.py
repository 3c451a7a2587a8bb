"""Jobs that fire every second, and the judgement on what their runs topics hold."""

from collections import Counter
from typing import NamedTuple

from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.model.jobs import CatchUp, Handler, Job
from tocsin.model.runs import Run
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB, RUN
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

PARTITIONS = 4
SECOND_MS = 1_000
PATIENCE = 60.0
NEVER_LATE = CatchUp(after_ms=86_400_000)


class Fired(NamedTuple):
    """A run, and when the broker appended it."""

    run: Run
    appended: int


class Ticking:
    """An installation whose jobs are all due on every full second from `first` on, and maybe
    some before."""

    def __init__(self, bootstrap: str, prefix: str, jobs: int = 20) -> None:
        self.bootstrap = bootstrap
        self.topics = Topics(prefix)
        self.cluster = KafkaCluster(bootstrap)
        self.names = [f"job-{number}" for number in range(jobs)]
        admin = TopicAdmin(bootstrap)
        specs = shipped_topics().expand(self.topics, partitions=PARTITIONS, replication=1)
        admin.apply(admin.plan(specs))
        self._put()
        self.first = _next_second()

    def fired(self) -> list[Fired]:
        """All runs so far, first attempts as others."""
        topic = self.topics.runs("normal")
        count = self.cluster.topics([topic], PATIENCE)[topic].partitions
        reader = self.cluster.log_reader()
        try:
            places = {TopicPartition(topic, number): 0 for number in range(count)}
            return [_fired(r) for batch in read_to_end(reader, places) for r in batch]
        finally:
            reader.close()

    def last(self) -> int:
        """The latest scheduled time that has been fired, of any job."""
        return max((one.run.scheduled_time for one in self.fired()), default=0)

    def has_fired_through(self, instant: int) -> bool:
        """Whether every job has fired at that instant or later."""
        latest: dict[str, int] = dict.fromkeys(self.names, 0)
        for run, _ in self.fired():
            latest[run.job_id] = max(latest[run.job_id], run.scheduled_time)
        return min(latest.values()) >= instant

    def problems(self, through: int) -> list[str]:
        """What is missing or doubled among the occurrences up to `through`; nothing = all well."""
        counts = Counter((run.job_id, run.scheduled_time) for run, _ in self.fired())
        due = range(self.first, through + 1, SECOND_MS)
        missing = [f"{n} at {t}: never" for n in self.names for t in due if not counts[n, t]]
        return missing + [f"{n} at {t}: {c} times" for (n, t), c in counts.items() if c > 1]

    def _put(self) -> None:
        producer = self.cluster.producer()
        schedule = ScheduleFields(every_ms=SECOND_MS, start=_next_second())
        for name in self.names:
            job = Job(
                tenant="default",
                job_id=name,
                schedule=schedule,
                handler=Handler(type="noop"),
                overlap="allow_all",
                catch_up=NEVER_LATE,
                status="active",
            )
            producer.produce(self.topics.jobs, str(job.key).encode(), JOB.encode(job))
        assert producer.flush(PATIENCE) == 0
        producer.close()


def _next_second() -> int:
    return clock.now_ms() // SECOND_MS * SECOND_MS + SECOND_MS


def _fired(record: Record) -> Fired:
    return Fired(RUN.decode(record.value or b""), record.timestamp)
