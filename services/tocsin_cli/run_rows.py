"""A run as a row of a table, times in the machine's zone."""

from datetime import datetime

from tocsin.client import Run
from tocsin_cli.output import plain

HEADINGS = ("JOB", "SCHEDULED", "START", "LATENESS", "ATTEMPT", "RESULT")


def run_cells(run: Run) -> tuple[str, str, str, str, str, str]:
    """In the order of `HEADINGS`."""
    return (
        run.job_id,
        time_of_day(run.scheduled_time),
        time_of_day(run.started_time),
        late_of(run) or "",
        "" if run.attempt is None else f"{run.attempt}/{run.max_attempts}",
        result_of(run),
    )


def late_of(run: Run) -> str | None:
    """From due to the first start; None where there is none, and of the slots of a backfill, which
    is asked for long after them or before."""
    if run.lateness_ms is None or run.cause == "backfill":
        return None
    return f"{run.lateness_ms:,} ms"


def time_of_day(instant: datetime | None) -> str:
    """`14:05:09.120`; empty for None."""
    if instant is None:
        return ""
    local = instant.astimezone()
    return f"{local:%H:%M:%S}.{local.microsecond // 1_000:03}"


def result_of(run: Run) -> str:
    """The status, and why it is not a better one; of occurrences passed over together, how many."""
    if run.count > 1:
        return plain(f"{run.count:,} {run.status}: {run.reason}")
    if run.error is not None and run.status != "succeeded":
        return plain(f"{run.status}: {run.error.code}, {run.error.message}")
    return plain(f"{run.status}: {run.reason}") if run.reason else run.status
