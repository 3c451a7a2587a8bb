"""What the gateway answers, as frozen values. Times are aware datetimes in UTC, durations ISO 8601;
`object` stands for whatever JSON there is.

Fields that a newer gateway adds are left out of account.
"""

from datetime import datetime
from typing import Generic, Literal, TypeVar

import msgspec

from tocsin.model.access import Role
from tocsin.model.jobs import CatchUpPolicy, Overlap, Priority, RetryJitter, Status
from tocsin.model.runs import UNFINISHED, Cause, RunStatus
from tocsin.model.strict_json import JsonObject
from tocsin.model.values import Value

T = TypeVar("T")

Phase = Literal["active", "paused", "completed"]
AttemptStatus = Literal[
    "pending", "running", "deferred", "failed", "succeeded", "cancelled", "expired"
]


class Answer(Value, frozen=True, forbid_unknown_fields=False):
    """The base of what is read from answers."""


class Page(Answer, Generic[T], frozen=True):
    """A part of a list. next_cursor: None = nothing follows."""

    items: tuple[T, ...]
    next_cursor: str | None = None


class LastRun(Answer, frozen=True):
    """The newest run of a job, in short."""

    run_id: str
    status: RunStatus
    scheduled_time: datetime
    attempt: int | None = None
    started_time: datetime | None = None
    finished_time: datetime | None = None


class JobInfo(Answer, frozen=True):
    """What is not part of a job's definition. next: the next scheduled times. overdue_since: the
    oldest scheduled time that has passed without a sign of a run."""

    revision: int
    created_at: datetime
    updated_at: datetime
    phase: Phase
    next: tuple[datetime, ...] = ()
    overdue_since: datetime | None = None
    last_run: LastRun | None = None


class Retry(Answer, frozen=True):
    """How failed attempts follow one another."""

    max_attempts: int
    initial: str
    multiplier: float
    max: str
    jitter: RetryJitter


class CatchUp(Answer, frozen=True):
    """What becomes of late occurrences."""

    policy: CatchUpPolicy
    after: str
    window: str | None = None


class Job(Answer, frozen=True):
    """A job, whole, with what the gateway knows of it beside its definition."""

    job_id: str
    tenant: str
    schedule: dict[str, object]
    handler: dict[str, object]
    info: JobInfo
    status: Status
    pool: str
    priority: Priority
    jitter: str
    timeout: str
    queue_timeout: str
    retry: Retry
    overlap: Overlap
    catch_up: CatchUp
    keep_completed: str
    owner: str | None = None
    description: str | None = None
    tags: dict[str, str] = msgspec.field(default_factory=dict)
    payload: object = None
    max_runs: int | None = None
    pause_on_failures: int | None = None
    status_note: str | None = None

    @property
    def revision(self) -> int:
        """For `if_revision` of a write that must not overwrite another's."""
        return self.info.revision

    def definition(self) -> JsonObject:
        """The object that `put` takes; edit the copy and put it."""
        document: JsonObject = msgspec.to_builtins(self)
        del document["info"]
        return document


class RunError(Answer, frozen=True):
    """Why an attempt failed."""

    code: str
    message: str


class Run(Answer, frozen=True):
    """A run, or an occurrence that did not become one (skipped, missed) with its reason.

    lateness_ms: from due to the first start; None for a slot of a backfill. count: occurrences that
    were passed over together, from `first_time` to `scheduled_time`.
    """

    run_id: str
    tenant: str
    job_id: str
    status: RunStatus
    scheduled_time: datetime
    cause: Cause | None = None
    attempt: int | None = None
    max_attempts: int | None = None
    due_time: datetime | None = None
    emitted_time: datetime | None = None
    started_time: datetime | None = None
    finished_time: datetime | None = None
    retry_time: datetime | None = None
    lateness_ms: int | None = None
    worker: str | None = None
    result: object = None
    error: RunError | None = None
    reason: str | None = None
    count: int = 1
    first_time: datetime | None = None
    handler: str | None = None
    pool: str | None = None
    priority: Priority | None = None
    revision: int | None = None

    @property
    def has_ended(self) -> bool:
        """No attempt follows, unless it is redriven."""
        return self.status not in UNFINISHED


class Attempt(Answer, frozen=True):
    """One attempt of a run."""

    attempt: int
    status: AttemptStatus
    worker: str | None = None
    emitted_time: datetime | None = None
    started_time: datetime | None = None
    finished_time: datetime | None = None
    retry_time: datetime | None = None
    result: object = None
    error: RunError | None = None


class Event(Answer, frozen=True):
    """A decision of the scheduler. count: occurrences that it stands for."""

    type: str
    time: datetime
    reason: str
    count: int = 1
    run_id: str | None = None
    scheduled_time: datetime | None = None
    attempt: int | None = None
    revision: int | None = None
    first: datetime | None = None
    last: datetime | None = None
    retry_time: datetime | None = None


class LiveEvent(Answer, frozen=True):
    """Something that has happened: a decision of the scheduler, with its reason, or what a worker
    said of an attempt (started, deferred, succeeded, failed). id: the place behind it, for `after`.
    """

    type: str
    time: datetime
    tenant: str
    job_id: str
    id: str = ""
    reason: str | None = None
    count: int = 1
    run_id: str | None = None
    scheduled_time: datetime | None = None
    attempt: int | None = None
    worker: str | None = None
    started_time: datetime | None = None
    error: RunError | None = None
    revision: int | None = None
    first: datetime | None = None
    last: datetime | None = None
    retry_time: datetime | None = None


class RunDetail(Run, frozen=True):
    """A run with its attempts and the decisions about it, in their order."""

    attempts: tuple[Attempt, ...] = ()
    events: tuple[Event, ...] = ()


class Occurrence(Answer, frozen=True):
    """local: the reading of the zone's clock. dst_rule: what chose it, on a day when clocks
    change."""

    utc: datetime
    local: str
    offset: str
    dst_rule: str | None = None


class Preview(Answer, frozen=True):
    """What a schedule means, and its next occurrences."""

    description: str
    occurrences: tuple[Occurrence, ...]


class Spread(Answer, frozen=True):
    """How values in milliseconds are spread; without values only the count."""

    count: int
    mean: float | None = None
    p50: int | None = None
    p90: int | None = None
    p95: int | None = None
    p99: int | None = None
    max: int | None = None


class Statistics(Answer, frozen=True):
    """What became of the occurrences scheduled from `since` on, up to an hour before what was asked
    for. Quantiles are within 1.6 %.

    is_whole: False where there were more than are looked at, `since` is later then. occurrences:
    their number by status. not_run: of those that did not run, by reason. retried: runs of several
    attempts. jobs: by phase, where the statistics are of all jobs.
    """

    since: datetime
    until: datetime
    is_whole: bool
    occurrences: dict[RunStatus, int]
    not_run: dict[str, int]
    retried: int
    duration_ms: Spread
    lateness_ms: Spread
    success_rate: float | None = None
    jobs: dict[Phase, int] | None = None


class Backfill(Answer, frozen=True):
    """accounted: how many of the slots have a run or a recorded reason. reason: why it ended
    before its last slot."""

    backfill_id: str
    job_id: str
    status: Literal["requested", "running", "finished", "cancelled", "rejected"]
    slots: int | None = None
    accounted: int = 0
    overlap: Overlap | None = None
    requested_time: datetime | None = None
    started_time: datetime | None = None
    finished_time: datetime | None = None
    reason: str | None = None

    @property
    def has_ended(self) -> bool:
        """No slot is left to run."""
        return self.status not in ("requested", "running")


class Bulk(Answer, frozen=True):
    """matched: how many the filter fits. done: None = they were only counted. refused: about which
    nothing was done, the first hundred, with the reason under `detail`. next_cursor: where those
    begin that `limit`, or 20 seconds, have left, and left: how many."""

    matched: int
    done: int | None = None
    refused: tuple[dict[str, str], ...] = ()
    next_cursor: str | None = None
    left: int = 0


class Token(Answer, frozen=True):
    """tenant: None = all."""

    name: str
    role: Role
    status: Literal["active", "expired", "revoked"]
    tenant: str | None = None
    created_time: datetime | None = None
    expires_time: datetime | None = None
    revoked_time: datetime | None = None


class NewToken(Token, frozen=True, kw_only=True):
    """A token with its secret, which is shown this once."""

    token: str
