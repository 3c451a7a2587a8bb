"""Decisions of the scheduler, as they are recorded."""

from typing import Literal

from tocsin.model.keys import JobKey
from tocsin.model.runs import Cause
from tocsin.model.values import Value

EventType = Literal[
    "accepted",
    "rejected",
    "skipped",
    "missed",
    "expired",
    "cancelled",
    "retry_scheduled",
    "lease_expired",
    "dead",
    "paused",
    "completed",
    "backfill_started",
    "backfill_progress",
    "backfill_finished",
]


class Event(Value, frozen=True, kw_only=True):
    """One decision. `count`, `first`, `last`: the occurrences that it stands for.

    An `accepted` event carries all that is needed to compute due instants: revision, schedule
    (JSON), status, jitter_ms, max_runs, and `anchor`: occurrences of the definition are later
    than this. `cause` stands where what was passed over is not an occurrence of the schedule.
    """

    tenant: str
    job_id: str
    type: EventType
    time: int
    reason: str
    run_id: str | None = None
    scheduled_time: int | None = None
    attempt: int | None = None
    revision: int | None = None
    count: int = 1
    first: int | None = None
    last: int | None = None
    schedule: str | None = None
    status: Literal["active", "paused", "deleted"] | None = None
    jitter_ms: int | None = None
    anchor: int | None = None
    retry_time: int | None = None
    max_runs: int | None = None
    cause: Cause | None = None

    @property
    def key(self) -> JobKey:
        return JobKey(self.tenant, self.job_id)
