"""Sets of readings of a wall clock: whole seconds, counted as if the wall showed UTC."""

from datetime import date
from typing import Protocol

from tocsin.timetable.calendar import (
    CYCLE_DAY,
    CYCLE_DAYS,
    CYCLE_MONTHS,
    CYCLE_ORDINAL,
    MONTH_START,
)
from tocsin.timetable.instants import DAY
from tocsin.timetable.times import Times, lowest

NEVER = 1 << 60
"""Later than every reading."""


class Walls(Protocol):
    """A set of readings in order."""

    periodic: bool
    """Whether the set repeats with the calendar, every 400 years."""

    def at_or_after(self, wall: int) -> int:
        """The smallest reading of the set that is >= `wall`, or NEVER."""


class MonthDays(Protocol):
    """A set of dates that repeats with the calendar."""

    def in_month(self, month: int) -> int:
        """The dates in a month of the 400-year cycle (see `calendar`), day n as bit n."""


class CalendarWalls:
    """All readings with a date of one set and a time of another."""

    periodic = True

    __slots__ = ("daily", "dates", "times")

    def __init__(self, dates: MonthDays, times: Times, *, daily: bool = False) -> None:
        """`daily`: whether every date is in the set."""
        self.dates = dates
        self.times = times
        self.daily = daily

    def at_or_after(self, wall: int) -> int:
        """The smallest reading >= `wall`; there always is one, as an empty set is never built."""
        day, time = divmod(wall, DAY)
        match = self.day_at_or_after(day)
        if match == day:
            found = self.times.at_or_after(time)
            if found >= 0:
                return day * DAY + found
            match = self.day_at_or_after(day + 1)
        return match * DAY + self.times.first

    def day_at_or_after(self, day: int) -> int:
        """The first day of the set that is >= `day`, in days from 1970-01-01; or NEVER."""
        if self.daily:
            return day
        in_cycle = (day - CYCLE_DAY) % CYCLE_DAYS
        at = date.fromordinal(CYCLE_ORDINAL + in_cycle)
        month = at.year * 12 + at.month - 24_001
        rest = self.dates.in_month(month) >> at.day
        if rest:
            return day + (rest & -rest).bit_length() - 1  # lowest(rest), where speed counts
        cycle = (day - CYCLE_DAY) // CYCLE_DAYS
        for later in range(month + 1, month + 1 + CYCLE_MONTHS):
            days = self.dates.in_month(later % CYCLE_MONTHS)
            if days:
                cycle += later // CYCLE_MONTHS
                start = MONTH_START[later % CYCLE_MONTHS] + cycle * CYCLE_DAYS
                return CYCLE_DAY + start + lowest(days) - 1
        return NEVER
