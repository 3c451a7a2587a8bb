"""Quartz' cron expressions -> Tocsin's, and the window that a year field means.

Quartz counts the days of the week from Sunday = 1, has a seventh field for years, and takes `/5`
for `*/5`. All else that both can say is written alike.
"""

import re
from typing import NamedTuple

_STEP_OF_ALL = re.compile(r"(?<![^,])/")
_NUMBER = re.compile(r"\d+")
_YEARS = re.compile(r"(\d{4})(?:-(\d{4}))?")


class NotCarriedOver(ValueError):
    """What Quartz means cannot be said; the message says which part."""


class QuartzCron(NamedTuple):
    """expression: six fields. years: the first and the last one, None = all."""

    expression: str
    years: tuple[int, int] | None


def translate(expression: str) -> QuartzCron:
    """Raises `NotCarriedOver`. What is no expression in either is left for the reader of jobs."""
    fields = expression.split()
    if len(fields) not in (6, 7):
        raise NotCarriedOver(f"{expression!r}: Quartz has six or seven fields")
    *times, weekday = [_STEP_OF_ALL.sub("*/", field) for field in fields[:6]]
    years = fields[6] if len(fields) == 7 else "*"
    return QuartzCron(" ".join([*times, _weekdays(weekday)]), _years(years))


def _weekdays(field: str) -> str:
    """`L` alone is the last day of Quartz' week, Saturday."""
    if field.upper() == "L":
        return "6"
    return ",".join(_item(item) for item in field.split(","))


def _item(item: str) -> str:
    """`2-6/2`, `6#3`, `6L`: the days are counted from 0, steps and `#` stay."""
    days, separator, rest = re.fullmatch(r"([^#/]*)([#/]?)(.*)", item).groups()  # type: ignore[union-attr]
    return f"{_NUMBER.sub(_from_zero, days)}{separator}{rest}"


def _from_zero(number: re.Match[str]) -> str:
    day = int(number[0])
    if not 1 <= day <= 7:
        raise NotCarriedOver(f"day of the week {day}: Quartz counts from 1, Sunday, to 7")
    return str(day - 1)


def _years(field: str) -> tuple[int, int] | None:
    if field in ("*", "?"):
        return None
    match = _YEARS.fullmatch(field)
    if match is None:
        raise NotCarriedOver(f"years {field}: only one year, or a range of them, can be kept")
    return int(match[1]), int(match[2] or match[1])
