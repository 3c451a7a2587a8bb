"""Jobs as people read them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import get_args

from rich.table import Table

from tocsin.client import Job
from tocsin.timetable.instants import format_instant, to_ms
from tocsin_cli.job_plan import Action, Change
from tocsin_cli.output import pairs, table

_FEW = 3


def job_table(jobs: Iterable[Job]) -> Table:
    """A row a job."""
    return table(
        ("job", "phase", "schedule", "handler", "next", "last run"),
        ((j.job_id, j.info.phase, schedule(j), handler(j), _next(j), _last_run(j)) for j in jobs),
    )


def change_views(changes: Sequence[Change], *, show_diff: bool) -> str:
    """A line for each change, its differences below it if asked for, and how many there are."""
    lines = []
    for change in changes:
        lines.append(f"{change.action:8}{change.job_id}")
        if show_diff and change.diff:
            lines.append(change.diff)
    counts = Counter(change.action for change in changes)
    lines.append(", ".join(f"{counts[action]} to {action}" for action in get_args(Action)))
    return "\n".join(lines)


def job_view(job: Job) -> Table:
    """All of one job; what is empty is left out."""
    info = job.info
    shown: dict[str, object] = {
        "job": f"{job.tenant}/{job.job_id}",
        "phase": info.phase,
        "note": job.status_note,
        "description": job.description,
        "owner": job.owner,
        "tags": " ".join(f"{name}={value}" for name, value in job.tags.items()),
        "schedule": schedule(job),
        "next": "  ".join(map(time, info.next[:_FEW])),
        "handler": handler(job),
        "payload": None if job.payload is None else json.dumps(job.payload, ensure_ascii=False),
        "pool": f"{job.pool}, priority {job.priority}",
        "overlap": job.overlap,
        "catch-up": _words(
            {"": job.catch_up.policy, "after": job.catch_up.after, "window": job.catch_up.window}
        ),
        "retry": _words(
            {
                "attempts": job.retry.max_attempts,
                "initial": job.retry.initial,
                "multiplier": job.retry.multiplier,
                "max": job.retry.max,
                "jitter": job.retry.jitter,
            }
        ),
        "timeout": f"{job.timeout} an attempt, {job.queue_timeout} in the queue",
        "jitter": job.jitter if job.jitter != "PT0S" else None,
        "max runs": job.max_runs,
        "pause on failures": job.pause_on_failures,
        "last run": _last_run(job),
        "revision": f"{info.revision}, updated {time(info.updated_at)}",
    }
    return pairs(shown)


def job_views(jobs: Sequence[Job]) -> Table:
    """One job in full, several in short."""
    return job_view(jobs[0]) if len(jobs) == 1 else job_table(jobs)


def schedule(job: Job) -> str:
    """`cron 0 7 * * MON-FRI Europe/Berlin`."""
    fields = {name: value for name, value in job.schedule.items() if value is not None}
    kind = next(name for name in ("cron", "every", "at", "rrule") if name in fields)
    zone = fields.get("timezone", "UTC")
    return f"{kind} {fields[kind]}" + ("" if zone == "UTC" else f" {zone}")


def handler(job: Job) -> str:
    """`http POST https://…`."""
    words = (job.handler.get(name) for name in ("type", "method", "url"))
    return " ".join(str(word) for word in words if word is not None)


def time(instant: datetime | None) -> str:
    """RFC 3339 in UTC; empty for None."""
    return "" if instant is None else format_instant(to_ms(instant))


def _next(job: Job) -> str:
    return time(job.info.next[0]) if job.info.next else ""


def _last_run(job: Job) -> str:
    last = job.info.last_run
    return "" if last is None else f"{last.status} {time(last.scheduled_time)}"


def _words(parts: Mapping[str, object]) -> str:
    told = (f"{name} {value}".strip() for name, value in parts.items() if value is not None)
    return ", ".join(told)
