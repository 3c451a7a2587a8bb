"""Schedules as Kubernetes' controller reads them -> Tocsin's.

Both are written alike, with two differences. There `*/2` restricts a day field as much as `1-31/2`
does: beside another one that is restricted, one of the two is enough, where here a field that
begins with `*` has to match as well. And `@every 1h30m` is an interval.
"""

import re

from tocsin.timetable import format_duration
from tocsin_cli.moving_in.imports import Definition

_EVERY = re.compile(r"@every\s+((?:\d+[hms])+)", re.ASCII)
_PART = re.compile(r"(\d+)([hms])", re.ASCII)
_UNIT_MS = {"h": 3_600_000, "m": 60_000, "s": 1_000}
_ALL = re.compile(r"[*?](?:/1)?")
_STAR = re.compile(r"[*?](?=/)")
_DAYS, _WEEKDAYS = "1-31", "0-6"


def translate(expression: str) -> Definition:
    """A schedule without its zone. What is no expression in either is left for the reader of
    jobs."""
    if every := _EVERY.fullmatch(expression.strip()):
        interval = sum(int(n) * _UNIT_MS[unit] for n, unit in _PART.findall(every[1]))
        return {"every": format_duration(interval)}
    fields = expression.split()
    if len(fields) != 5 or _is_all(fields[2]) or _is_all(fields[4]):
        return {"cron": expression}
    minute, hour, day, month, weekday = fields
    return {
        "cron": " ".join([minute, hour, _ranges(day, _DAYS), month, _ranges(weekday, _WEEKDAYS)])
    }


def _is_all(field: str) -> bool:
    return any(_ALL.fullmatch(item) for item in field.split(","))


def _ranges(field: str, all_: str) -> str:
    return ",".join(_STAR.sub(all_, item) for item in field.split(","))
