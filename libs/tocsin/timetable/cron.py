"""Cron expressions: five or six fields, or a nickname."""

import re
from typing import NamedTuple

from tocsin.timetable.dates import CronDates, day_of_month, day_of_week
from tocsin.timetable.errors import InvalidSchedule
from tocsin.timetable.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOUR,
    MINUTE,
    MONTH,
    SECOND,
    WrongItem,
)
from tocsin.timetable.times import Times
from tocsin.timetable.walls import CalendarWalls

FIELDS = (SECOND, MINUTE, HOUR, DAY_OF_MONTH, MONTH, DAY_OF_WEEK)
MAXIMUM_LENGTH = 1000
NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Cron(NamedTuple):
    """A cron expression as parsed: the wall times it names, and which of the two kinds it is."""

    walls: CalendarWalls
    elapsed: bool
    """Whether every real instant whose reading matches fires (the hour field begins with `*`),
    and not each matching wall time once."""


def parse_cron(text: str) -> Cron:
    """Raises InvalidSchedule: length, nickname, fields, the name of a field, or never."""
    fields = split_fields(text)
    try:
        second = SECOND.parse(fields[0]) if len(fields) == 6 else 1
        minute, hour, day, month, weekday = fields[-5:]
        minutes, hours = MINUTE.parse(minute), HOUR.parse(hour)
        days, months = day_of_month(day), MONTH.parse(month)
        dates = CronDates(days, months, day_of_week(weekday))
    except WrongItem as wrong:
        raise _located(wrong, text, len(fields)) from None
    if dates.is_empty():
        raise InvalidSchedule("never", f"{text[:60]!r} matches no date: no month has such a day")
    walls = CalendarWalls(dates, Times(hours, minutes, second), daily=dates.all)
    return Cron(walls, hour[0] == "*")


def split_fields(text: str) -> list[str]:
    """The five or six fields of an expression, or of what a nickname stands for."""
    if len(text) > MAXIMUM_LENGTH:
        message = f"{len(text)} characters are too many: the most is {MAXIMUM_LENGTH}"
        raise InvalidSchedule("length", message)
    fields = text.replace("\t", " ").split(" ")
    if "" in fields:
        fields = [field for field in fields if field]
    if fields and fields[0][0] == "@":
        fields = _expand(text.strip(" \t")).split(" ")
    if len(fields) not in (5, 6):
        raise InvalidSchedule("fields", _count_message(len(fields)))
    return fields


def _located(wrong: WrongItem, text: str, count: int) -> InvalidSchedule:
    """The error with the item's column in the expression."""
    place = FIELDS.index(wrong.field) - (6 - count)
    starts = [match.start() for match in re.finditer(r"[^ \t]+", text)]
    column = starts[place] + wrong.offset + 1
    shown = f"{wrong.item[:20]!r}" if wrong.item else "an empty list item"
    keyword = wrong.field.keyword
    message = f"{keyword} field, column {column}: {shown} is not valid; {wrong.reason}"
    return InvalidSchedule(keyword, message, column)


def _expand(nickname: str) -> str:
    expanded = NICKNAMES.get(nickname.lower()) if nickname.isascii() else None
    if expanded is None:
        word = nickname.lower().split()[0]
        hint = {
            "@reboot": "a distributed scheduler has no restart to run a job at",
            "@every": 'write an interval as {"every": "PT5M"}',
        }.get(word, f"known are {', '.join(NICKNAMES)}")
        raise InvalidSchedule("nickname", f"{nickname[:20]!r} is no nickname: {hint}")
    return expanded


def _count_message(count: int) -> str:
    expected = (
        "cron has five fields (minute hour day-of-month month day-of-week) or six (second first)"
    )
    if count == 7:
        return f"{expected}, not 7: there is no year field; limit the years with start and end"
    return f"{expected}, not {count}; blanks and tabs separate them"
