"""For each schema a value with every optional field set, and one with none.

`python -m tests.wire.golden_values` writes the golden bytes of schemas that have none yet; those of
a released schema never change.
"""

from pathlib import Path

from tocsin.model.access import Audit, Token
from tocsin.model.events import Event
from tocsin.model.jobs import CatchUp, Handler, Job, Retry
from tocsin.model.runs import Cancel, Dead, Error, Outcome, Run, Worker
from tocsin.model.signals import Signal
from tocsin.model.state import Applied, Decided, JobState, Range, RunState, Watermark
from tocsin.model.values import Value
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import CODECS

GOLDEN_FILES = Path(__file__).parents[1] / "data" / "golden"

RUN_ID = "acme.daily-report.20260501T050000.000Z"
SIGNAL_ID = "019a3f5e-7c1b-7d2a-9e4f-3b5a6c7d8e9f"
T = 1_777_611_600_000

HTTP = Handler(type="http", config=b'{"url":"https://billing.example/report"}')

FULL_SCHEDULE = ScheduleFields(
    cron="0 7 * * MON-FRI",
    timezone="Europe/Berlin",
    gap="next",
    fold="first",
    start=T,
    end=T + 86_400_000,
)
RULE = ScheduleFields(rrule="FREQ=MONTHLY;BYMONTHDAY=-1", dtstart="2026-01-31T07:00:00")

FULL_RUN = Run(
    run_id=RUN_ID,
    scheduled_time=T,
    due_time=T + 12_345,
    emitted_time=T + 12_350,
    expires_time=T + 86_412_345,
    attempt=2,
    cause="catch_up",
    tracked=True,
    max_attempts=5,
    tenant="acme",
    job_id="daily-report",
    revision=4_294_967_296,
    priority="high",
    pool="gpu",
    handler=HTTP,
    payload='{"format":"pdf","für":"Zürich 💶"}'.encode(),
    timeout_ms=120_000,
)
LEAST_RUN = Run(
    run_id="default.a.19700101T000000.000Z",
    scheduled_time=0,
    due_time=0,
    emitted_time=0,
    expires_time=0,
    attempt=1,
    cause="schedule",
    tracked=False,
    max_attempts=1,
    tenant="default",
    job_id="a",
    revision=0,
    priority="normal",
    pool="default",
    handler=Handler(type="noop"),
    timeout_ms=1_000,
)
ERROR = Error(
    code="http_status", message="503 Service Unavailable", permanent=True, retry_after_ms=30_000
)
FULL_OUTCOME = Outcome(
    run_id=RUN_ID,
    tenant="acme",
    job_id="daily-report",
    attempt=2,
    kind="failed",
    worker="node-1/4711",
    time=T + 13_000,
    started_time=T + 12_400,
    lease_ms=60_000,
    run=FULL_RUN,
    result=b'{"pages":3}',
    error=ERROR,
)
LEAST_OUTCOME = Outcome(
    run_id="default.a.19700101T000000.000Z",
    tenant="default",
    job_id="a",
    attempt=1,
    kind="succeeded",
    worker="w",
    time=0,
)

FULL_JOB = Job(
    schedule=FULL_SCHEDULE,
    jitter_ms=30_000,
    status="paused",
    priority="high",
    tenant="acme",
    job_id="daily-report",
    owner="billing",
    description="Daily report, für Zürich 💶",
    tags={"team": "billing", "tier": ""},
    handler=HTTP,
    payload=b'{"format":"pdf"}',
    pool="gpu",
    timeout_ms=120_000,
    queue_timeout_ms=3_600_000,
    retry=Retry(max_attempts=7, initial_ms=1_000, multiplier=1.5, max_ms=60_000, jitter="none"),
    overlap="terminate_other",
    catch_up=CatchUp(policy="all", after_ms=5_000, window_ms=86_400_000),
    max_runs=100,
    pause_on_failures=10,
    keep_completed_ms=0,
    status_note="until the migration is done",
)
LEAST_JOB = Job(
    schedule=ScheduleFields(every_ms=10_000),
    tenant="default",
    job_id="a",
    handler=Handler(type="noop"),
)
FULL_DEAD = Dead(run=FULL_RUN, outcome=FULL_OUTCOME, attempts=5)

GOLDEN: dict[str, tuple[Value, Value]] = {
    "job": (FULL_JOB, LEAST_JOB),
    "signal": (
        Signal(
            signal="redrive",
            signal_id=SIGNAL_ID,
            assumes=41,
            payload=b"null",
            overlap="allow_all",
            from_time=T,
            to_time=T + 1,
            run_id=RUN_ID,
            backfill_id=SIGNAL_ID,
            attempt=2,
            succeeded=False,
            result=b"[]",
            error=ERROR,
            dead=FULL_DEAD,
        ),
        Signal(signal="trigger", signal_id=SIGNAL_ID),
    ),
    "outcome": (FULL_OUTCOME, LEAST_OUTCOME),
    "run": (FULL_RUN, LEAST_RUN),
    "event": (
        Event(
            tenant="acme",
            job_id="daily-report",
            type="accepted",
            time=T,
            reason="edited",
            run_id=RUN_ID,
            scheduled_time=T,
            attempt=2,
            revision=41,
            count=3,
            first=T - 2,
            last=T - 1,
            schedule='{"cron":"0 7 * * MON-FRI"}',
            status="deleted",
            jitter_ms=30_000,
            anchor=T,
            retry_time=T + 10_000,
            max_runs=7,
            cause="backfill",
        ),
        Event(tenant="default", job_id="a", type="skipped", time=0, reason=""),
    ),
    "dead": (
        FULL_DEAD,
        Dead(run=LEAST_RUN, outcome=LEAST_OUTCOME, attempts=1),
    ),
    "cancel": (
        Cancel(run_id=RUN_ID, attempt=2, worker="node-1/4711"),
        Cancel(run_id=RUN_ID, attempt=1),
    ),
    "worker": (
        Worker(
            worker="node-1/4711",
            pool="gpu",
            handlers=["http", "noop"],
            slots=64,
            free=3,
            partitions=["high:3", "low:0"],
            time=T,
        ),
        Worker(worker="w", pool="default", handlers=[], slots=1, free=0, partitions=[], time=0),
    ),
    "state_job": (
        JobState(
            settled=T,
            decided=[Decided(at=T - 5, until=T + 604_800_000)],
            owed=T - 7,
            ranges=[
                Range(
                    range_id=SIGNAL_ID,
                    cause="backfill",
                    schedule=RULE,
                    jitter_ms=1_000,
                    policy="buffer_one",
                    first=0,
                    last=T,
                    next=T - 1,
                    window_ms=60_000,
                )
            ],
            used_runs=9,
            failures=2,
            completed=T + 1,
            applied=[Applied(signal_id=SIGNAL_ID, until=T + 86_400_000)],
        ),
        JobState(),
    ),
    "state_run": (
        RunState(
            phase="running",
            attempt=2,
            cause="manual",
            scheduled_time=T,
            deadline=T + 60_000,
            worker="node-1/4711",
            lease_ms=60_000,
            started_time=T + 3,
            overlap="allow_all",
            run=FULL_RUN,
        ),
        RunState(
            phase="pending",
            attempt=1,
            cause="schedule",
            scheduled_time=0,
            deadline=0,
        ),
    ),
    "state_watermark": (
        Watermark(
            place=bytes(range(20)), jobs=41, signals=7, outcomes=99, owner="tocsin.s.n.1", time=T
        ),
        Watermark(place=b"", jobs=0, signals=0, outcomes=0, owner="", time=0),
    ),
    "access": (
        Token(
            name="ci",
            tenant="acme",
            role="editor",
            created_time=T,
            expires_time=T + 1,
            revoked_time=T + 2,
        ),
        Token(name="root", role="admin", created_time=0),
    ),
    "audit": (
        Audit(
            time=T,
            tenant="acme",
            actor="ci",
            action="job.put",
            object="acme/daily-report",
            before_revision=41,
            after_revision=42,
            request_id="r-1",
        ),
        Audit(time=0, tenant="", actor="", action="", object="", request_id=""),
    ),
}


def write_missing() -> None:
    """A line of hexadecimal digits for the full value, and one for the least."""
    for codec in CODECS:
        path = GOLDEN_FILES / f"{codec.name}.hex"
        if not path.exists():
            lines = [codec.encode(value).hex() + "\n" for value in GOLDEN[codec.name]]
            path.write_text("".join(lines), "ascii")


if __name__ == "__main__":
    write_missing()
