"""A job definition. Defaults and limits: `docs/reference/jobs.md`."""

from typing import Literal

import msgspec

from tocsin.model.keys import JobKey
from tocsin.model.values import Value
from tocsin.timetable import ScheduleFields

Priority = Literal["high", "normal", "low"]
Status = Literal["active", "paused"]
Overlap = Literal[
    "skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all"
]
CatchUpPolicy = Literal["latest", "all", "skip"]
RetryJitter = Literal["full", "none"]

PRIORITIES: tuple[Priority, ...] = ("high", "normal", "low")


class Handler(Value, frozen=True, kw_only=True):
    """What runs: a type and its configuration, a JSON object in UTF-8."""

    type: str
    config: bytes = b"{}"


class Retry(Value, frozen=True, kw_only=True):
    """How failed attempts follow one another."""

    max_attempts: int = 5
    initial_ms: int = 10_000
    multiplier: float = 3.0
    max_ms: int = 3_600_000
    jitter: RetryJitter = "full"


class CatchUp(Value, frozen=True, kw_only=True):
    """What becomes of occurrences that are late by more than `after_ms`."""

    policy: CatchUpPolicy = "latest"
    after_ms: int = 60_000
    window_ms: int | None = None


class Job(Value, frozen=True, kw_only=True):
    """A definition, whole. `status` None in a command means: keep what is stored."""

    schedule: ScheduleFields
    jitter_ms: int = 0
    status: Status | None = None
    priority: Priority = "normal"
    tenant: str
    job_id: str
    owner: str | None = None
    description: str | None = None
    tags: dict[str, str] = msgspec.field(default_factory=dict)
    handler: Handler
    payload: bytes | None = None
    pool: str = "default"
    timeout_ms: int = 300_000
    queue_timeout_ms: int = 86_400_000
    retry: Retry = Retry()
    overlap: Overlap = "skip"
    catch_up: CatchUp = CatchUp()
    max_runs: int | None = None
    pause_on_failures: int | None = None
    keep_completed_ms: int = 604_800_000
    status_note: str | None = None

    @property
    def key(self) -> JobKey:
        return JobKey(self.tenant, self.job_id)
