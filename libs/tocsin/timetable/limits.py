"""The BY parts of a rule that counts real time, as the readings that they keep."""

from collections.abc import Iterable

from tocsin.timetable.calendar import (
    ALL_MONTHS,
    ALL_WEEKDAYS,
    MONTH_SHAPE,
    MONTH_START,
    month_length,
    weekday_dates,
)
from tocsin.timetable.rule import Rule
from tocsin.timetable.times import ALL_HOURS, ALL_SIXTY, Times, to_bits
from tocsin.timetable.walls import CalendarWalls

LIMITS = frozenset(
    {"BYMONTH", "BYYEARDAY", "BYMONTHDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND"}
)
"""The parts that keep some readings and leave out others."""

_THURSDAY = 3


def limited_walls(rule: Rule) -> CalendarWalls:
    """The readings that the BY parts keep."""
    times = Times(
        to_bits(rule.byhour) or ALL_HOURS,
        to_bits(rule.byminute) or ALL_SIXTY,
        to_bits(rule.bysecond) or ALL_SIXTY,
    )
    return CalendarWalls(LimitedDates(rule), times)


def limited_weekdays(rule: Rule) -> int:
    """The weekdays that they keep, as bits; 0 = Thursday."""
    return to_bits((day - _THURSDAY) % 7 for day, _ in rule.byday) or ALL_WEEKDAYS


class LimitedDates:
    """The dates that BYMONTH, BYMONTHDAY, BYYEARDAY and BYDAY keep, together."""

    def __init__(self, rule: Rule) -> None:
        self._months = to_bits(rule.bymonth) or ALL_MONTHS
        self._weekdays = to_bits((day + 1) % 7 for day, _ in rule.byday) or ALL_WEEKDAYS
        self._of_month = {n: _from_either_end(rule.bymonthday, n) for n in range(28, 32)}
        self._of_year = {n: _from_either_end(rule.byyearday, n) for n in (365, 366)}
        self._known: dict[int, int] = {}

    def in_month(self, month: int) -> int:
        """The dates in a month of the 400-year cycle, day n as bit n."""
        dates = self._known.get(month)
        if dates is None:
            dates = self._known[month] = self._work_out(month)
        return dates

    def _work_out(self, month: int) -> int:
        if not self._months >> month % 12 + 1 & 1:
            return 0
        january = month - month % 12
        year = MONTH_START[january + 12] - MONTH_START[january]
        dates = self._of_year[year] >> MONTH_START[month] - MONTH_START[january]
        weekdays = weekday_dates(self._weekdays, MONTH_SHAPE[month] % 7)
        return dates & weekdays & self._of_month[month_length(month)]


def _from_either_end(numbers: Iterable[int], length: int) -> int:
    """Days counted from 1 or from -1, as bits; without numbers all."""
    days = [number if number > 0 else length + 1 + number for number in numbers]
    return to_bits(day for day in days if 1 <= day <= length) if days else (1 << length + 1) - 2
