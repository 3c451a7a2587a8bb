"""Occurrences of which nothing is known although their time has passed (pure)."""

from tocsin.model.runs import UNFINISHED
from tocsin.timetable import InvalidSchedule, schedule_of
from tocsin_gateway.projection.job_reads import StoredJob

TOLERANCE_MS = 60_000
"""What is later than this is overdue, not on its way."""

_LOOK_BACK_MS = 30 * 86_400_000
_WAITING = frozenset({"buffer_one", "buffer_all", "cancel_other"})


def overdue_since(stored: StoredJob, now: int) -> int | None:
    """The scheduled time of the oldest occurrence that should have been dealt with by now and of
    which there is no row. What waits for a run of the job to end is not overdue."""
    job = stored.job
    if stored.phase != "active" or (job.overlap in _WAITING and _is_busy(stored)):
        return None
    known = max(stored.held.timestamp, stored.known_through or 0, now - _LOOK_BACK_MS)
    try:
        following = next(schedule_of(job.schedule).occurrences_ms(known), None)
    except (InvalidSchedule, ValueError):
        return None
    if following is None or following + job.jitter_ms + TOLERANCE_MS > now:
        return None
    return following


def _is_busy(stored: StoredJob) -> bool:
    return stored.last_run is not None and stored.last_run.status in UNFINISHED
