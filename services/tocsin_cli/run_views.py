"""Runs as people read them."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from rich.console import Group
from rich.table import Table
from rich.text import Text

from tocsin.client import Attempt, Event, Run, RunDetail
from tocsin_cli.job_views import time
from tocsin_cli.output import pairs, table
from tocsin_cli.run_rows import late_of, result_of

_MINUTES_FROM_S = 120

Moment = tuple[datetime, str]


def run_table(runs: Iterable[Run]) -> Table:
    """A row a run."""
    return table(
        ("run", "start", "lateness", "attempt", "result"),
        ((r.run_id, time(r.started_time), late_of(r), _attempts(r), result_of(r)) for r in runs),
    )


def run_view(run: RunDetail) -> Group:
    """All of one run, and what happened to it in the order of time."""
    moments = timeline(run)
    due = run.due_time or run.scheduled_time
    rows = ((time(at), _after(at - due), what) for at, what in moments)
    return Group(_summary(run), Text(), table(("time", "after due", "what"), rows))


def timeline(run: RunDetail) -> list[Moment]:
    """Its attempts and the scheduler's decisions; what is simultaneous stays in their order."""
    moments = [(run.scheduled_time, "scheduled")]
    if run.due_time is not None and run.due_time != run.scheduled_time:
        moments.append((run.due_time, "due"))
    for attempt in run.attempts:
        moments.extend(_of_attempt(attempt))
    moments.extend((event.time, _told(event)) for event in run.events)
    return sorted(moments, key=lambda moment: moment[0])


def _summary(run: Run) -> Table:
    return pairs(
        {
            "run": run.run_id,
            "occurrences": f"{run.count:,}, from {time(run.first_time)}" if run.count > 1 else None,
            "job": f"{run.tenant}/{run.job_id}",
            "result": result_of(run),
            "cause": run.cause,
            "attempt": _attempts(run),
            "lateness": late_of(run),
            "worker": run.worker,
            "answer": None if run.result is None else json.dumps(run.result, ensure_ascii=False),
        }
    )


def _of_attempt(attempt: Attempt) -> Iterator[Moment]:
    name = f"attempt {attempt.attempt}"
    if attempt.emitted_time is not None:
        yield attempt.emitted_time, f"{name} handed to the workers"
    if attempt.started_time is not None:
        yield attempt.started_time, f"{name} started on {attempt.worker}"
    if attempt.finished_time is not None:
        error = attempt.error
        why = "" if error is None else f": {error.code}, {error.message}"
        yield attempt.finished_time, f"{name} {attempt.status}{why}"


def _told(event: Event) -> str:
    later = "" if event.retry_time is None else f" for {time(event.retry_time)}"
    reason = f": {event.reason}" if event.reason else ""
    return f"{event.type.replace('_', ' ')}{later}{reason}"


def _after(elapsed: timedelta) -> str:
    """`+0.013 s`, `-30.000 s` and, from two minutes on, `+0:02:10`."""
    seconds = elapsed.total_seconds()
    sign = "-" if seconds < 0 else "+"
    if abs(seconds) < _MINUTES_FROM_S:
        return f"{sign}{abs(seconds):.3f} s"
    return f"{sign}{timedelta(seconds=round(abs(seconds)))}"


def _attempts(run: Run) -> str | None:
    return None if run.attempt is None else f"{run.attempt}/{run.max_attempts}"
