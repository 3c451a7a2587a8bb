"""What the scheduler keeps beside the definitions; the values of the state topic."""

from typing import Literal

import msgspec

from tocsin.model.jobs import Overlap
from tocsin.model.runs import Cause, Run
from tocsin.model.values import Value
from tocsin.timetable import ScheduleFields

Phase = Literal["waiting", "pending", "running", "retrying", "deferred", "cancelling", "dead"]


class Decided(Value, frozen=True):
    """The instant `at` of a one-off that never runs again; forgotten after `until`."""

    at: int
    until: int


class Applied(Value, frozen=True):
    """A signal that is not applied again before `until`, epoch milliseconds."""

    signal_id: str
    until: int


class Range(Value, frozen=True):
    """Occurrences in [first, last] that are emitted one after another; `next` is to come."""

    range_id: str
    cause: Literal["catch_up", "backfill"]
    schedule: ScheduleFields
    jitter_ms: int
    policy: Overlap
    first: int
    last: int
    next: int
    window_ms: int | None = None


class JobState(Value, frozen=True):
    """What a definition does not say of its job.

    settled: scheduled time up to which the job is settled, where the watermark alone does not
    tell. decided: instants of one-offs that never run again. owed: a one-off's instant that
    passes in a pause. completed: when nothing was left to run. applied: signals with a name-based
    id, oldest first.
    """

    settled: int | None = None
    decided: list[Decided] = msgspec.field(default_factory=list)
    owed: int | None = None
    ranges: list[Range] = msgspec.field(default_factory=list)
    used_runs: int = 0
    failures: int = 0
    completed: int | None = None
    applied: list[Applied] = msgspec.field(default_factory=list)


class RunState(Value, frozen=True):
    """An unfinished run, an occurrence that waits to become one, or a dead run's marker.

    deadline: when the phase ends by itself, epoch milliseconds. run: whole, where something may
    emit it again. overlap: where the run was asked for with a policy of its own.
    """

    phase: Phase
    attempt: int
    cause: Cause
    scheduled_time: int
    deadline: int
    worker: str | None = None
    lease_ms: int | None = None
    started_time: int | None = None
    overlap: Overlap | None = None
    run: Run | None = None


class Watermark(Value, frozen=True):
    """How far a partition is accounted: a place in the due index, and offsets that go with it."""

    place: bytes
    jobs: int
    signals: int
    outcomes: int
    owner: str
    time: int
