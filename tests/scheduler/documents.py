"""Definitions of every kind, chosen at random: by hypothesis or by a seeded generator."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

from tocsin.timetable.instants import format_instant

T = TypeVar("T")

OVERLAPS = ("skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all")


class Pick(Protocol):
    """Chooses one of several; later ones need no other chance than earlier ones."""

    def __call__(self, options: Sequence[T], /) -> T: ...


def any_schedule(pick: Pick, now: int) -> dict[str, object]:
    """One that is due within minutes of `now`, epoch milliseconds."""
    near = now + pick(range(-100, 301)) * 1_000 + pick([0, 250])
    kind = pick(["every", "every", "anchored", "cron", "cron", "at"])
    if kind == "at":
        return {"at": format_instant(near)}
    schedule: dict[str, object] = {"every": pick([1, 2, 7, 30])}
    if kind == "cron":
        expressions = ["* * * * *", "*/20 * * * * *", "* * * * * *", "13-20 14 * * *"]
        schedule = {"cron": pick(expressions)}
    if kind == "anchored":
        schedule["start"] = format_instant(near)
    if pick(range(6)) == 0:
        schedule["end"] = format_instant(near + 400_000)
    return schedule


def any_document(pick: Pick, now: int) -> dict[str, object]:
    """A JSON command: any schedule, with any policies."""
    document: dict[str, object] = {
        "schedule": any_schedule(pick, now),
        "handler": {"type": "noop"},
        "overlap": pick(OVERLAPS),
        "priority": pick(["high", "normal", "low"]),
        "jitter": pick([0, 0, 1, 3, 90, 4_000]),
        "catch_up": {
            "policy": pick(["latest", "all", "skip"]),
            "after": pick([0, 5, 60]),
            "window": pick([None, None, 30, 600]),
        },
        "retry": {"max_attempts": 2, "initial": 1, "max": 5},
        "queue_timeout": pick([20, 86_400]),
        "pause_on_failures": pick([None, None, 1, 2]),
        "keep_completed": pick([0, 100, 86_400]),
        "max_runs": pick([None, None, None, 1, 3]),
        "pool": pick(["default"] * 12 + ["absent"]),
    }
    status = pick([None, None, "active", "paused"])
    if status is not None:
        document["status"] = status
    return document
