"""A log written by hand, record by record."""

from typing import NamedTuple

from tests.audit.logs import empty_cluster, put_watermark
from tests.scheduler.world import TOPICS
from tocsin.model.events import Event, EventType
from tocsin.model.jobs import Handler, Job
from tocsin.model.keys import parse_job_key, run_id
from tocsin.model.runs import Cause, Run
from tocsin.model.state import JobState, Range, RunState, Watermark
from tocsin.testing import MemoryCluster
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import EVENT, JOB, JOB_STATE, RUN, RUN_STATE
from tocsin_cli.audit import Finding, Report, Verdict, audit

START = 1_790_000_000_000
"""A whole minute past the hour: 2026-09-21T14:13:20Z."""

KEY = "default/a"


class Audited(NamedTuple):
    """named: (scheduled time after `START` in seconds, verdict) of each finding."""

    report: Report
    named: set[tuple[float, Verdict]]


class Log:
    """One partition. Times are given in seconds after `START`."""

    def __init__(self, cluster: MemoryCluster | None = None) -> None:
        self.cluster = cluster or empty_cluster(now_ms=START)
        self._producer = self.cluster.producer()
        self._revision = 0

    def accept(
        self,
        at: float,
        schedule: str | None = '{"every": 10, "start": "2026-09-21T14:13:20Z"}',
        *,
        status: str = "active",
        max_runs: int | None = None,
        jitter_ms: int | None = None,
        applied: float | None = None,
        key: str = KEY,
    ) -> None:
        """An `accepted` event; `schedule` None = deleted. `applied`: when the scheduler acted."""
        tenant, job_id = parse_job_key(key)
        event = Event(
            tenant=tenant,
            job_id=job_id,
            type="accepted",
            time=instant(at if applied is None else applied),
            reason="",
            revision=self._revision,
            schedule=schedule,
            status="deleted" if schedule is None else "paused" if status == "paused" else "active",
            anchor=instant(at),
            max_runs=max_runs,
            jitter_ms=jitter_ms,
        )
        self._revision += 1
        self._event(key, event)

    def record(
        self,
        kind: EventType,
        first: float,
        last: float | None = None,
        count: int = 1,
        *,
        cause: Cause | None = None,
        suffix: str = "",
        key: str = KEY,
    ) -> None:
        """An event that occurrences do not run."""
        tenant, job_id = parse_job_key(key)
        last = first if last is None else last
        event = Event(
            tenant=tenant,
            job_id=job_id,
            type=kind,
            time=instant(last),
            reason="",
            run_id=run_id(tenant, job_id, instant(first), suffix) if first == last else None,
            scheduled_time=instant(first) if first == last else None,
            count=count,
            first=instant(first),
            last=instant(last),
            cause=cause,
        )
        self._event(key, event)

    def run(
        self,
        *times: float,
        cause: Cause = "schedule",
        attempt: int = 1,
        suffix: str = "",
        pool: str = "default",
        key: str = KEY,
    ) -> None:
        """Runs scheduled then, emitted when they were due."""
        for at in times:
            run = run_at(at, cause=cause, attempt=attempt, suffix=suffix, key=key)
            topic = TOPICS.runs("normal", pool)
            self._producer.produce(topic, run.run_id.encode(), RUN.encode(run))

    def open_run(self, at: float, key: str = KEY) -> None:
        """An occurrence that waits in the scheduler's state."""
        run = run_at(at, key=key)
        state = RunState(
            phase="waiting",
            attempt=1,
            cause="schedule",
            scheduled_time=run.scheduled_time,
            deadline=1 << 62,
            run=run,
        )
        self.state(f"{key}#{run.run_id}".encode(), RUN_STATE.encode(state))

    def open_range(self, left: Range) -> None:
        """A backlog that is worked off."""
        self.state(KEY.encode(), JOB_STATE.encode(JobState(ranges=[left])))

    def state(self, key: bytes, value: bytes | None) -> None:
        self._producer.produce(TOPICS.state, key, value, 0)

    def stored(self, job: Job, headers: list[tuple[str, bytes]] | None = None) -> None:
        """A record of the jobs topic."""
        key = str(job.key).encode()
        self._producer.produce(TOPICS.jobs, key, JOB.encode(job), 0, headers)

    def watermark(self, at: float, jobs: int | None = None) -> None:
        """Accounted up to there, with commands up to the offset `jobs` applied; None = all."""
        place = instant(at).to_bytes(8, "big")
        applied = self._revision if jobs is None else jobs
        mark = Watermark(place=place, jobs=applied, signals=0, outcomes=0, owner="", time=0)
        put_watermark(self.cluster, mark)

    def audit(self) -> Audited:
        found: list[Finding] = []
        report = audit(self.cluster, TOPICS, on_finding=found.append)
        named = {((each.scheduled_time - START) / 1_000, each.verdict) for each in found}
        assert len(named) == len(found), "each occurrence is named once"
        return Audited(report, named)

    def _event(self, key: str, event: Event) -> None:
        self._producer.produce(TOPICS.events, key.encode(), EVENT.encode(event), 0)


def instant(at: float) -> int:
    return START + round(at * 1_000)


def run_at(
    at: float,
    *,
    cause: Cause = "schedule",
    attempt: int = 1,
    suffix: str = "",
    key: str = KEY,
) -> Run:
    tenant, job_id = parse_job_key(key)
    return Run(
        run_id=run_id(tenant, job_id, instant(at), suffix),
        scheduled_time=instant(at),
        due_time=instant(at),
        emitted_time=instant(at),
        expires_time=instant(at) + 60_000,
        attempt=attempt,
        cause=cause,
        tracked=False,
        max_attempts=5,
        tenant=tenant,
        job_id=job_id,
        revision=0,
        priority="normal",
        pool="default",
        handler=Handler(type="noop"),
        timeout_ms=60_000,
    )


def every_ten_seconds(key: str = KEY) -> Job:
    """A whole definition, as it stands in the jobs topic."""
    tenant, job_id = parse_job_key(key)
    schedule = ScheduleFields(every_ms=10_000, start=START)
    handler = Handler(type="noop")
    return Job(tenant=tenant, job_id=job_id, schedule=schedule, handler=handler, status="active")
