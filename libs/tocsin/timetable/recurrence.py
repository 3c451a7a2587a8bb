"""The wall times of a rule that counts days, weeks, months or years.

python-dateutil says which dates of a year the BY parts match; there are only 28 kinds of years, so
it is asked at most 28 times for a rule. The rest is arithmetic on those dates as bits (bit i is
the year's day i, from 0), so that far dates, sparse rules and large COUNTs cost no more than near
ones.
"""

from collections.abc import Iterator
from datetime import date, datetime
from itertools import accumulate, pairwise
from typing import Protocol

from dateutil.rrule import YEARLY, rrule, weekday

from tocsin.timetable.calendar import is_leap, month_lengths
from tocsin.timetable.instants import DAY, EPOCH_ORDINAL
from tocsin.timetable.positions import ChosenWalls, Positions
from tocsin.timetable.rule import Rule
from tocsin.timetable.times import Times, below, lowest, to_bits
from tocsin.timetable.walls import NEVER

LAST_YEAR = 9999
_LAST_DAY = date.max.toordinal() - EPOCH_ORDINAL
_FIFTH = 5


class YearWalls(Protocol):
    """The readings of a rule that belong to one year."""

    @property
    def count(self) -> int:
        """How many there are."""

    def at_or_after(self, wall: int) -> int:
        """The smallest reading >= `wall`, or NEVER."""

    def rank(self, wall: int) -> int:
        """How many are <= `wall`."""


class RuleWalls:
    """The readings of a rule from its `dtstart` (a reading in seconds) on, COUNT and a local UNTIL
    applied."""

    periodic = False

    def __init__(self, rule: Rule, dtstart: int) -> None:
        self._rule = rule
        self._dtstart = dtstart
        self._until = NEVER if rule.until is None or rule.until_utc else rule.until
        self._dates = RuleDates(rule, dtstart // DAY)
        self._times = _times(rule, dtstart)
        self._positions = Positions(rule, self._times)
        # A week belongs to the year that it begins in; its choice may lie in the next one.
        self._lead = 1 if rule.bysetpos else 0
        self._first_year = max(year_of(dtstart) - self._lead, 1)
        self._known: dict[int, YearWalls] = {}
        self._counted = [0]

    def at_or_after(self, wall: int) -> int:
        """The smallest reading of the rule that is >= `wall`, or NEVER."""
        return self.find(wall, LAST_YEAR)

    def find(self, wall: int, last_year: int) -> int:
        """The same among the years to `last_year`."""
        wall = max(wall, self._dtstart)
        if wall // DAY > _LAST_DAY:
            return NEVER
        first = max(year_of(wall) - self._lead, self._first_year)
        for year in range(first, last_year + 1):
            found = self._in_year(year).at_or_after(wall)
            if found != NEVER:
                return found if self._allows(found, year) else NEVER
        return NEVER

    def _allows(self, wall: int, year: int) -> bool:
        if wall > self._until:
            return False
        count = self._rule.count
        return count is None or self._before(year) + self._in_year(year).rank(wall) <= count

    def _before(self, year: int) -> int:
        """How many readings the rule has in earlier years."""
        while len(self._counted) <= year - self._first_year:
            last = self._in_year(self._first_year + len(self._counted) - 1)
            self._counted.append(self._counted[-1] + last.count)
        return self._counted[year - self._first_year]

    def _in_year(self, year: int) -> YearWalls:
        known = self._known.get(year)
        if known is None:
            if len(self._known) >= 16:
                self._known = {}
            known = self._known[year] = self._work_out(year)
        return known

    def _work_out(self, year: int) -> YearWalls:
        if self._rule.bysetpos:
            return ChosenWalls(self._dates.periods(year), self._positions, self._dtstart)
        start, days, missed = _year_start(year), self._dates.in_year(year), 0
        if year == self._first_year:
            first = self._dtstart // DAY - start
            days = days >> first << first
            if days >> first & 1:
                missed = self._times.rank(self._dtstart % DAY - 1)
        return ProductWalls(start, days, self._times, missed)


class ProductWalls:
    """All times of a set on all days of a set. The first `missed` lie before dtstart."""

    __slots__ = ("_days", "_missed", "_start", "_times")

    def __init__(self, start: int, days: int, times: Times, missed: int) -> None:
        self._start = start
        self._days = days
        self._times = times
        self._missed = missed

    @property
    def count(self) -> int:
        return self._days.bit_count() * self._times.count - self._missed

    def at_or_after(self, wall: int) -> int:
        day, time = divmod(wall - self._start * DAY, DAY)
        if day < 0:
            day, time = 0, 0
        rest = self._days >> day
        if rest & 1:
            found = self._times.at_or_after(time)
            if found >= 0:
                return (self._start + day) * DAY + found
            rest -= 1
        if not rest:
            return NEVER
        return (self._start + day + lowest(rest)) * DAY + self._times.first

    def rank(self, wall: int) -> int:
        day, time = divmod(wall - self._start * DAY, DAY)
        earlier = below(self._days, day) * self._times.count
        return earlier + (self._days >> day & 1) * self._times.rank(time) - self._missed


class RuleDates:
    """The dates of a rule: FREQ and INTERVAL from the day of dtstart, and the BY parts."""

    def __init__(self, rule: Rule, first_day: int) -> None:
        self._rule = rule
        self._first_day = first_day
        self._first = date.fromordinal(first_day + EPOCH_ORDINAL)
        self._week = first_day - (self._first.weekday() - rule.wkst) % 7
        self._fill_in()
        self._by_kind: dict[tuple[int, bool, bool], int] = {}

    def in_year(self, year: int) -> int:
        """The year's days, also those before dtstart in its first period, as bits."""
        reached = self._reached(year)
        return reached and reached & self._matching(year)

    def periods(self, year: int) -> Iterator[tuple[int, int]]:
        """The days of each period (year, month, week or day) that begins in the year, in order:
        a first day, and bits from it on. Periods without any are left out.

        Like dateutil, the first week begins with the day of dtstart.
        """
        start, days = _year_start(year), self.in_year(year)
        if self._rule.freq == "WEEKLY":
            yield from self._weeks(year, start, days)
            return
        for first, last in self._borders(year) if days else ():
            chosen = days >> first & (1 << last - first) - 1
            if chosen:
                yield start + first, chosen

    def _weeks(self, year: int, start: int, days: int) -> Iterator[tuple[int, int]]:
        length = _year_length(year)
        days |= (self.in_year(year + 1) if year < LAST_YEAR else 0) << length
        for first in range((self._week - start) % 7, length, 7):
            missed = max(self._first_day - start - first, 0)
            chosen = days >> first & 127
            chosen = chosen >> missed << missed
            if chosen:
                yield start + first, chosen

    def _borders(self, year: int) -> list[tuple[int, int]]:
        if self._rule.freq == "YEARLY":
            return [(0, _year_length(year))]
        if self._rule.freq == "DAILY":
            return [(day, day + 1) for day in range(_year_length(year))]
        ends = list(accumulate(month_lengths(year), initial=0))
        return list(pairwise(ends))

    def _reached(self, year: int) -> int:
        """The days of the periods that INTERVAL does not leave out."""
        interval, start = self._rule.interval, _year_start(year)
        everything = (1 << _year_length(year)) - 1
        match self._rule.freq:
            case "YEARLY":
                return 0 if (year - self._first.year) % interval else everything
            case "MONTHLY":
                return self._reached_months(year) if interval > 1 else everything
            case "WEEKLY":
                skipped = (start - self._week) % (7 * interval)
                return _repeat(127, 7 * interval, skipped) & everything
            case _:
                skipped = (start - self._first_day) % interval
                return _repeat(1, interval, skipped) & everything

    def _reached_months(self, year: int) -> int:
        days = 0
        for month, (first, last) in enumerate(self._borders(year), start=1):
            passed = (year - self._first.year) * 12 + month - self._first.month
            if passed % self._rule.interval == 0:
                days |= (1 << last) - (1 << first)
        return days

    def _matching(self, year: int) -> int:
        """The days that the BY parts match."""
        model = 2000 + year % 400
        kind = (date(model, 1, 1).weekday(), is_leap(model), is_leap(model - 1))
        days = self._by_kind.get(kind)
        if days is None:
            days = self._by_kind[kind] = self._ask_dateutil(model)
        return days

    def _ask_dateutil(self, year: int) -> int:
        if not self._weekdays and self._rule.byday:
            return 0
        first = datetime(year, 1, 1)  # noqa: DTZ001 - a reading, in no zone
        listed = rrule(
            YEARLY,
            dtstart=first,
            interval=LAST_YEAR,  # this year alone
            wkst=self._rule.wkst,
            bymonth=self._months or None,
            bymonthday=self._monthdays or None,
            byyearday=self._rule.byyearday or None,
            byweekno=self._rule.byweekno or None,
            byweekday=self._weekdays or None,
            byhour=0,
            byminute=0,
            bysecond=0,
        )
        return to_bits(day.toordinal() - first.toordinal() for day in listed)

    def _fill_in(self) -> None:
        """What dtstart decides where no part limits the day, for a rule that is asked by year."""
        rule = self._rule
        self._months, self._monthdays, weekdays = rule.bymonth, rule.bymonthday, rule.byday
        if not (rule.byweekno or rule.byyearday or rule.bymonthday or rule.byday):
            if rule.freq in ("YEARLY", "MONTHLY"):
                self._monthdays = (self._first.day,)
            if rule.freq == "YEARLY":
                self._months = rule.bymonth or (self._first.month,)
            days = [self._first.weekday()] if rule.freq == "WEEKLY" else range(7)
            weekdays = tuple((day, 0) for day in days)
        if rule.freq == "MONTHLY":  # it is in months that a counted weekday is counted
            self._months = rule.bymonth or tuple(range(1, 13))
        most = _FIFTH if self._months else 53
        self._weekdays = [weekday(day, n or None) for day, n in weekdays if abs(n) <= most]


def _times(rule: Rule, dtstart: int) -> Times:
    return Times(
        to_bits(rule.byhour or (dtstart // 3600 % 24,)),
        to_bits(rule.byminute or (dtstart // 60 % 60,)),
        to_bits(rule.bysecond or (dtstart % 60,)),
    )


def _repeat(pattern: int, period: int, skipped: int) -> int:
    """The pattern's bits at 0, period, 2 * period, ... for more than a year, less `skipped`."""
    days = pattern >> min(skipped, 400)
    for first in range(period - skipped, 400, period):
        days |= pattern << first
    return days


def year_of(wall: int) -> int:
    """The year of a reading, at most LAST_YEAR."""
    return date.fromordinal(min(wall // DAY, _LAST_DAY) + EPOCH_ORDINAL).year


def _year_start(year: int) -> int:
    return date(year, 1, 1).toordinal() - EPOCH_ORDINAL


def _year_length(year: int) -> int:
    return 366 if is_leap(year) else 365
