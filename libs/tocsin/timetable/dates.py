"""The two day fields of cron: which dates they match together."""

import re
from collections.abc import Callable, Sequence

from tocsin.timetable.calendar import (
    ALL_MONTHS,
    ALL_WEEKDAYS,
    MONTH_SHAPE,
    SHAPES_OF_MONTH,
    weekday_dates,
)
from tocsin.timetable.fields import DAY_OF_MONTH, DAY_OF_WEEK, Field, WrongItem
from tocsin.timetable.times import bits_of

Rule = Callable[[int, int], int]
"""A day form such as LW: (length of the month, weekday of its first day) to dates as bits."""

_FROM_LAST = re.compile(r"L(?:-([0-9]{1,2}))?", re.IGNORECASE | re.ASCII)
_NEAREST = re.compile(r"([0-9]{1,2})W", re.IGNORECASE | re.ASCII)
_NTH = re.compile(r"([0-9]{1,2}|[A-Z]{3})#([0-9]{1,2})", re.IGNORECASE | re.ASCII)
_LAST = re.compile(r"([0-9]{1,2}|[A-Z]{3})L", re.IGNORECASE | re.ASCII)
SPECIAL = re.compile("[Ll#]|[0-9][Ww]")
"""Found in the forms that only day fields know, and in no number, name or range."""
_SUNDAY, _SATURDAY = 0, 6
_EVERY_DAY = (1 << 32) - 2
_INALL_MONTHS = (1 << 29) - 2


class DayField:
    """A day field as parsed: its plain values as bits, its other forms as rules."""

    __slots__ = ("bits", "rules", "star")

    def __init__(self, field: Field, text: str) -> None:
        """Numbers and names, `?` alone, and `L`, `L-n`, `LW`, `nW` or `d#n`, `dL`: WrongItem."""
        self.star = text[0] in "*?"
        self.rules: Sequence[Rule] = ()
        bits = field.known.get("*" if text == "?" else text)
        self.bits = self._read_list(field, text) if bits is None else bits

    def _read_list(self, field: Field, text: str) -> int:
        if SPECIAL.search(text) is None:
            return field.parse(text)
        bits, offset, rules = 0, 0, []
        for item in text.split(","):
            try:
                rule = _day_rule(item) if field is DAY_OF_MONTH else _weekday_rule(item)
                if rule is None:
                    bits |= field.parse(item)
                else:
                    rules.append(rule)
            except WrongItem as wrong:
                wrong.offset = offset
                raise
            offset += len(item) + 1
        self.rules = rules
        return bits


def day_of_month(text: str) -> DayField:
    """The field read; raises WrongItem."""
    return _KNOWN_DAYS.get(text) or DayField(DAY_OF_MONTH, text)


def day_of_week(text: str) -> DayField:
    """The field read; raises WrongItem."""
    return _KNOWN_WEEKDAYS.get(text) or DayField(DAY_OF_WEEK, text)


def _known(field: Field) -> dict[str, DayField]:
    """The commonest spellings, read beforehand."""
    return {text: DayField(field, text) for text in (*field.known, "?")}


_KNOWN_DAYS = _known(DAY_OF_MONTH)
_KNOWN_WEEKDAYS = _known(DAY_OF_WEEK)


class CronDates:
    """The dates of a cron expression. A month's dates are worked out once for each shape."""

    __slots__ = ("_both", "_by_shape", "_days", "_months", "_weekdays", "all")

    def __init__(self, days: DayField, months: int, weekdays: DayField) -> None:
        self._days = days
        self._months = months
        self._weekdays = weekdays
        self._both = days.star or weekdays.star
        self.all = (
            months == ALL_MONTHS and days.bits == _EVERY_DAY and weekdays.bits == ALL_WEEKDAYS
        )
        """Whether every date matches."""
        self._by_shape: dict[int, int] = {}

    def in_month(self, month: int) -> int:
        """The matching dates in a month of the 400-year cycle, day n as bit n."""
        if not self._months >> month % 12 + 1 & 1:
            return 0
        shape = MONTH_SHAPE[month]
        dates = self._by_shape.get(shape)
        return self._in_shape(shape) if dates is None else dates

    def is_empty(self) -> bool:
        """Whether no date of the 400-year cycle matches."""
        days, weekdays = self._days, self._weekdays
        if weekdays.bits == ALL_WEEKDAYS and days.bits & _INALL_MONTHS:
            return False
        if weekdays.bits and (days.bits == _EVERY_DAY or not self._both):
            return False
        for month in bits_of(self._months):
            for shape in SHAPES_OF_MONTH[month]:
                if self._in_shape(shape):
                    return False
        return True

    def _in_shape(self, shape: int) -> int:
        length, first = shape // 7 + 28, shape % 7
        days, weekdays = self._days.bits, weekday_dates(self._weekdays.bits, first)
        for rule in self._days.rules:
            days |= rule(length, first)
        for rule in self._weekdays.rules:
            weekdays |= rule(length, first)
        dates = days & weekdays if self._both else days | weekdays
        dates &= (1 << length + 1) - 2
        self._by_shape[shape] = dates
        return dates


def _day_rule(item: str) -> Rule | None:
    if item.upper() == "LW":
        return _last_workday
    if match := _FROM_LAST.fullmatch(item):
        return _from_last(item, match[1])
    if match := _NEAREST.fullmatch(item):
        return _nearest(item, int(match[1]))
    return None


def _from_last(item: str, text: str | None) -> Rule:
    back = int(text or 0)
    if text and not 1 <= back <= 30:
        raise DAY_OF_MONTH.wrong(item, "L-n takes 1 to 30 days; the last day itself is L")
    return lambda length, _: 1 << length - back if back < length else 0


def _nearest(item: str, day: int) -> Rule:
    if not 1 <= day <= 31:
        raise DAY_OF_MONTH.wrong(item, "nW takes a day from 1 to 31")
    return lambda length, first: _nearest_workday(day, length, first)


def _weekday_rule(item: str) -> Rule | None:
    if match := _NTH.fullmatch(item):
        return _nth(item, DAY_OF_WEEK.value(match[1]), int(match[2]))
    if match := _LAST.fullmatch(item):
        return _last(item, DAY_OF_WEEK.value(match[1]))
    return None


def _nth(item: str, weekday: int | None, nth: int) -> Rule:
    if weekday is None or not 1 <= nth <= 5:
        raise DAY_OF_WEEK.wrong(item, "d#n takes one weekday, and n from 1 to 5")
    return lambda _, first: 1 << (weekday - first) % 7 + 7 * nth - 6


def _last(item: str, weekday: int | None) -> Rule:
    if weekday is None:
        raise DAY_OF_WEEK.wrong(item, "dL takes one weekday")
    return lambda length, first: 1 << length - (first + length - 1 - weekday) % 7


def _last_workday(length: int, first: int) -> int:
    weekday = (first + length - 1) % 7
    back = 1 if weekday == _SATURDAY else 2 if weekday == _SUNDAY else 0
    return 1 << length - back


def _nearest_workday(day: int, length: int, first: int) -> int:
    if day > length:
        return 0
    weekday = (first + day - 1) % 7
    if weekday == _SATURDAY:
        return 1 << (day - 1 if day > 1 else 3)
    if weekday == _SUNDAY:
        return 1 << (day + 1 if day < length else day - 2)
    return 1 << day
