"""One run as a row of the history (pure).

A row tells what the run is (by the record of its newest attempt) and how it stands (by the
attempt that succeeded, else the newest). An occurrence that did not become a run is a row with
attempt 0; it gives way to a run. Several that one decision passed over are one row, which stands
at the last of them and gives way to nothing. Like the attempts, a row is the same for every
interleaving of the topics: each part is the maximum of an order that does not depend on arrival.
"""

import msgspec

from tocsin.model.events import Event, EventType
from tocsin.model.keys import parse_run_id, run_id
from tocsin.model.runs import Run, RunStatus
from tocsin.model.values import Value
from tocsin_gateway.projection.attempts import Attempt

NOT_RUN: dict[EventType, RunStatus] = {
    "skipped": "skipped",
    "missed": "missed",
    "cancelled": "cancelled",
    "expired": "expired",
}
"""Events that can say of a single occurrence why there is no attempt at it."""


class RunRow(Value, frozen=True):
    """A row of `runs`. `described`: attempt whose record was read, 0 = none yet.

    count: occurrences that it stands for; of several, the first was scheduled at `first_time` and
    the last at `scheduled_time`.
    """

    run_id: str
    tenant: str
    job_id: str
    scheduled_time: int
    described: int = 0
    cause: str | None = None
    revision: int | None = None
    priority: str | None = None
    pool: str | None = None
    handler: str | None = None
    max_attempts: int | None = None
    due_time: int | None = None
    emitted_time: int | None = None
    first_started_time: int | None = None
    attempt: int = -1
    status: RunStatus = "pending"
    worker: str | None = None
    started_time: int | None = None
    finished_time: int | None = None
    retry_time: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    result: bytes | None = None
    reason: str | None = None
    count: int = 1
    first_time: int | None = None


def new_row(run_id: str) -> RunRow:
    """A row of which nothing is known but its id; raises `InvalidKey`."""
    name = parse_run_id(run_id)
    return RunRow(
        run_id=run_id, tenant=name.tenant, job_id=name.job_id, scheduled_time=name.scheduled_time
    )


def described(row: RunRow, run: Run) -> RunRow:
    """What the run's record says of it; the newest attempt's counts (a redrive may differ)."""
    first = _earlier(row.emitted_time, run.emitted_time)
    if run.attempt <= row.described:
        return row if first == row.emitted_time else _with(row, emitted_time=first)
    return _with(
        row,
        described=run.attempt,
        cause=run.cause,
        revision=run.revision,
        priority=run.priority,
        pool=run.pool,
        handler=run.handler.type,
        max_attempts=run.max_attempts,
        due_time=run.due_time,
        emitted_time=first,
    )


def shown(row: RunRow, attempt: Attempt) -> RunRow:
    """The row after `attempt` has changed."""
    row = _with(row, first_started_time=_earlier(row.first_started_time, attempt.started_time))
    if (row.status == "succeeded", row.attempt) > (attempt.succeeded, attempt.attempt):
        return row
    status = attempt.run_status
    unfinished = status in ("pending", "running", "deferred")
    lost = attempt.decision == "lease_expired" and attempt.error_code is None
    return _with(
        row,
        attempt=attempt.attempt,
        status=status,
        worker=attempt.worker,
        started_time=attempt.started_time,
        finished_time=None if unfinished else attempt.ended_time,
        retry_time=attempt.retry_time if status == "retrying" else None,
        error_code="lease_expired" if lost else attempt.error_code,
        error_message=attempt.reason if lost else attempt.error_message,
        result=attempt.result,
        reason=None if status == "succeeded" else attempt.reason,
    )


def not_run(row: RunRow, event: Event) -> RunRow:
    """An event that names an occurrence without an attempt; the first one counts."""
    if row.attempt >= 0:
        return row
    return _with(
        row,
        attempt=0,
        status=NOT_RUN[event.type],
        finished_time=event.time,
        reason=event.reason,
    )


def range_id(event: Event, offset: int) -> str | None:
    """The id of the row of occurrences that were passed over together by the event at `offset`;
    None where the event tells of no such. A run id with a suffix that no run has."""
    if event.type not in NOT_RUN or event.run_id is not None or event.last is None:
        return None
    if event.count == 1 and event.cause is None:
        return None
    return run_id(event.tenant, event.job_id, event.last, f"-r{offset:08x}")


def passed_over(name: str, event: Event) -> RunRow:
    """The row of that id."""
    assert event.last is not None
    return RunRow(
        run_id=name,
        tenant=event.tenant,
        job_id=event.job_id,
        scheduled_time=event.last,
        cause=event.cause,
        attempt=0,
        status=NOT_RUN[event.type],
        finished_time=event.time,
        reason=event.reason,
        count=event.count,
        first_time=event.first if event.count > 1 else None,
    )


def _earlier(one: int | None, other: int | None) -> int | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _with(row: RunRow, **changes: object) -> RunRow:
    return msgspec.structs.replace(row, **changes)
