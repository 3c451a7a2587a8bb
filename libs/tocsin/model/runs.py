"""Runs, what workers say of them, and what becomes of them."""

from typing import Literal

from tocsin.model.jobs import Handler, Priority
from tocsin.model.keys import JobKey
from tocsin.model.values import Value

Cause = Literal["schedule", "catch_up", "manual", "backfill", "redrive"]
OutcomeKind = Literal[
    "started", "heartbeat", "deferred", "succeeded", "failed", "cancelled", "expired", "declined"
]
UNSIGNED = ""
"""In the place of a worker's name where the scheduler itself says how a run has ended."""

SaidType = Literal["started", "deferred", "succeeded", "failed"]
"""Kinds of outcomes that are news as such: on the others the scheduler decides, and says so."""

ErrorCode = Literal[
    "timeout",
    "connect",
    "http_status",
    "target_refused",
    "no_handler",
    "exception",
    "exit_code",
    "lease_expired",
    "interrupted",
    "saturated",
    "invalid",
]
RunStatus = Literal[
    "pending",
    "running",
    "retrying",
    "deferred",
    "succeeded",
    "dead",
    "cancelled",
    "expired",
    "skipped",
    "missed",
]

UNFINISHED: frozenset[RunStatus] = frozenset({"pending", "running", "retrying", "deferred"})


class Run(Value, frozen=True, kw_only=True):
    """One attempt at one occurrence. Times are epoch milliseconds."""

    run_id: str
    scheduled_time: int
    due_time: int
    emitted_time: int
    expires_time: int
    attempt: int
    cause: Cause
    tracked: bool
    max_attempts: int
    tenant: str
    job_id: str
    revision: int
    priority: Priority
    pool: str
    handler: Handler
    payload: bytes | None = None
    timeout_ms: int

    @property
    def key(self) -> JobKey:
        return JobKey(self.tenant, self.job_id)


class Error(Value, frozen=True, kw_only=True):
    """Why an attempt failed. `permanent`: another attempt cannot help."""

    code: ErrorCode
    message: str
    permanent: bool = False
    retry_after_ms: int | None = None


class Outcome(Value, frozen=True, kw_only=True):
    """What a worker says of an attempt; `run` whole in started, deferred, failed and declined."""

    run_id: str
    tenant: str
    job_id: str
    attempt: int
    kind: OutcomeKind
    worker: str
    time: int
    started_time: int | None = None
    lease_ms: int | None = None
    run: Run | None = None
    result: bytes | None = None
    error: Error | None = None

    @property
    def key(self) -> JobKey:
        return JobKey(self.tenant, self.job_id)

    @property
    def is_unsigned(self) -> bool:
        """Whether it is the scheduler's own word for the end of a run, beside an event."""
        return self.worker == UNSIGNED and self.kind in ("cancelled", "expired")


class Dead(Value, frozen=True, kw_only=True):
    """A run that used up its attempts, with its last outcome."""

    run: Run
    outcome: Outcome
    attempts: int


class Cancel(Value, frozen=True, kw_only=True):
    """To all workers: stop attempts up to `attempt` of a run, or those of one worker."""

    run_id: str
    attempt: int
    worker: str | None = None


class Worker(Value, frozen=True, kw_only=True):
    """A worker's report of itself. `partitions`: `priority:partition`, such as `high:3`."""

    worker: str
    pool: str
    handlers: list[str]
    slots: int
    free: int
    partitions: list[str]
    time: int
