"""What the read model holds -> JSON documents."""

from collections.abc import Sequence
from itertools import islice

from tocsin.model.events import Event
from tocsin.model.fold import Held
from tocsin.model.job_json import render_job
from tocsin.model.jobs import Job
from tocsin.model.keys import is_of_backfill
from tocsin.model.runs import Outcome
from tocsin.model.strict_json import InvalidJson, JsonObject, JsonValue, loads
from tocsin.timetable import InvalidSchedule, Preview, schedule_of
from tocsin.timetable.instants import format_instant
from tocsin_gateway.api.overdue import overdue_since
from tocsin_gateway.projection.attempts import Attempt
from tocsin_gateway.projection.backfills import Backfill
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.job_counts import Phase
from tocsin_gateway.projection.job_reads import JobPage, StoredJob
from tocsin_gateway.projection.run_reads import RunDetail, RunPage

NEXT = 5
_LAST_MS = 253_402_300_799_999


def instant(epoch_ms: int | None) -> str | None:
    """RFC 3339 with milliseconds; null for what no calendar holds (a foreign record's time)."""
    if epoch_ms is None or not 0 <= epoch_ms <= _LAST_MS:
        return None
    text = format_instant(epoch_ms)
    return text if "." in text else f"{text[:-1]}.000Z"


def job_document(stored: StoredJob, now: int, *, history_complete: bool = False) -> JsonObject:
    """The definition and, under `info`, what is not part of it. What is overdue is told only
    where the history is complete."""
    overdue = overdue_since(stored, now) if history_complete else None
    return _job_document(stored.held, stored.job, stored.phase, stored.last_run, overdue, now)


def accepted_document(held: Held, job: Job, now: int) -> JsonObject:
    """A definition as it was just accepted."""
    phase: Phase = "paused" if job.status == "paused" else "active"
    return _job_document(held, job, phase, None, None, now)


def job_page(found: JobPage, now: int, *, history_complete: bool) -> JsonObject:
    items: list[JsonValue] = [
        job_document(stored, now, history_complete=history_complete) for stored in found.items
    ]
    return page(items, found.next_cursor)


def run_page(found: RunPage) -> JsonObject:
    return page([run_document(row) for row in found.items], found.next_cursor)


def run_document(row: RunRow) -> JsonObject:
    """A row of the history. `lateness_ms`: from due to the first start; the slots of a backfill are
    not late. A row of several occurrences has their `count` and the `first_time`; it stands at the
    last of them."""
    late = None
    due = None if is_of_backfill(row.run_id) else row.due_time
    if row.first_started_time is not None and due is not None:
        late = row.first_started_time - due
    return {
        "run_id": row.run_id,
        "tenant": row.tenant,
        "job_id": row.job_id,
        "status": row.status,
        "cause": row.cause,
        "attempt": row.attempt if row.attempt > 0 else None,
        "max_attempts": row.max_attempts,
        "scheduled_time": instant(row.scheduled_time),
        "due_time": instant(row.due_time),
        "emitted_time": instant(row.emitted_time),
        "started_time": instant(row.started_time),
        "finished_time": instant(row.finished_time),
        "retry_time": instant(row.retry_time),
        "lateness_ms": late,
        "worker": row.worker,
        "result": _json(row.result),
        "error": _error(row.error_code, row.error_message),
        "reason": row.reason,
        "count": row.count,
        "first_time": instant(row.first_time),
        "handler": row.handler,
        "pool": row.pool,
        "priority": row.priority,
        "revision": row.revision,
    }


def run_detail(detail: RunDetail) -> JsonObject:
    """A row with its attempts and events."""
    return {
        **run_document(detail.row),
        "attempts": [_attempt(attempt) for attempt in detail.attempts],
        "events": [event_document(event) for event in detail.events],
    }


def event_document(event: Event) -> JsonObject:
    """What a decision says; fields that it does not have are left out."""
    optional: dict[str, JsonValue] = {
        "run_id": event.run_id,
        "scheduled_time": instant(event.scheduled_time),
        "attempt": event.attempt,
        "revision": event.revision,
        "first": instant(event.first),
        "last": instant(event.last),
        "schedule": None if event.schedule is None else _json(event.schedule.encode()),
        "status": event.status,
        "retry_time": instant(event.retry_time),
    }
    return {
        "type": event.type,
        "time": instant(event.time),
        "reason": event.reason,
        "count": event.count,
        **{name: value for name, value in optional.items() if value is not None},
    }


def outcome_document(outcome: Outcome) -> JsonObject:
    """What a worker says of an attempt; fields that it does not have are left out. Its result
    stands in the run."""
    optional: dict[str, JsonValue] = {
        "started_time": instant(outcome.started_time),
        "error": None
        if outcome.error is None
        else {"code": outcome.error.code, "message": outcome.error.message},
    }
    return {
        "type": outcome.kind,
        "time": instant(outcome.time),
        "run_id": outcome.run_id,
        "attempt": outcome.attempt,
        "worker": outcome.worker,
        **{name: value for name, value in optional.items() if value is not None},
    }


def backfill_document(backfill: Backfill) -> JsonObject:
    """A backfill and how far it has come; `accounted`: slots that have a run or a reason."""
    return {
        "backfill_id": backfill.backfill_id,
        "job_id": backfill.job_id,
        "status": backfill.status,
        "from": instant(backfill.from_time),
        "to": instant(backfill.to_time),
        "overlap": backfill.overlap,
        "slots": backfill.slots,
        "accounted": backfill.accounted,
        "requested_time": instant(backfill.requested_time),
        "started_time": instant(backfill.started_time),
        "finished_time": instant(backfill.finished_time),
        "reason": backfill.reason,
    }


def preview_document(description: str, occurrences: list[Preview]) -> JsonObject:
    """`dst_rule` stands only where one acted."""
    items: list[JsonValue] = [
        {
            "utc": occurrence.utc,
            "local": occurrence.local,
            "offset": occurrence.offset,
            **({} if occurrence.dst_rule is None else {"dst_rule": occurrence.dst_rule}),
        }
        for occurrence in occurrences
    ]
    return {"description": description, "occurrences": items}


def _job_document(
    held: Held, job: Job, phase: Phase, last_run: RunRow | None, overdue: int | None, now: int
) -> JsonObject:
    info: JsonObject = {
        "revision": held.revision,
        "created_at": instant(held.created_time),
        "updated_at": instant(held.timestamp),
        "phase": phase,
        "next": list(_next(job, now)) if phase == "active" else [],
        "overdue_since": instant(overdue),
        "last_run": None if last_run is None else _brief(last_run),
    }
    return {**render_job(job), "info": info}


def _next(job: Job, now: int) -> list[str | None]:
    """The next scheduled times. None of a schedule that the zones of today do not allow any
    more: one bad record never breaks a list."""
    try:
        return [instant(at) for at in islice(schedule_of(job.schedule).occurrences_ms(now), NEXT)]
    except (InvalidSchedule, ValueError):
        return []


def _brief(row: RunRow) -> JsonObject:
    return {
        "run_id": row.run_id,
        "status": row.status,
        "attempt": row.attempt if row.attempt > 0 else None,
        "scheduled_time": instant(row.scheduled_time),
        "started_time": instant(row.started_time),
        "finished_time": instant(row.finished_time),
    }


def _attempt(attempt: Attempt) -> JsonObject:
    lost = attempt.decision == "lease_expired" and attempt.error_code is None
    code = "lease_expired" if lost else attempt.error_code
    message = attempt.reason if lost else attempt.error_message
    ended = attempt.status not in ("pending", "running", "deferred")
    return {
        "attempt": attempt.attempt,
        "status": attempt.status,
        "worker": attempt.worker,
        "emitted_time": instant(attempt.emitted_time),
        "started_time": instant(attempt.started_time),
        "finished_time": instant(attempt.ended_time) if ended else None,
        "retry_time": instant(attempt.retry_time),
        "result": _json(attempt.result),
        "error": _error(code, message),
    }


def _error(code: str | None, message: str | None) -> JsonValue:
    return None if code is None else {"code": code, "message": message or ""}


def _json(data: bytes | None) -> JsonValue:
    """The JSON that a worker gave as result; text where it is none."""
    if data is None:
        return None
    try:
        return loads(data)
    except InvalidJson:
        return data.decode("utf-8", "replace")


def page(items: Sequence[JsonValue], next_cursor: str | None) -> JsonObject:
    """One page of a list."""
    return {"items": list(items), **({} if next_cursor is None else {"next_cursor": next_cursor})}
