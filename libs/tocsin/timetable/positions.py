"""BYSETPOS: the readings of a rule that are chosen by their place in a year, month, week or day."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from tocsin.timetable.instants import DAY
from tocsin.timetable.rule import Rule
from tocsin.timetable.times import Times, nth_of
from tocsin.timetable.walls import NEVER

PERIOD_DAYS = {"YEARLY": 366, "MONTHLY": 31, "WEEKLY": 7, "DAILY": 1}

Place = tuple[int, int]
"""Which day of a period, from 0, and a time of day in seconds."""


class Positions:
    """The positions of a rule as places, however many days a period has."""

    def __init__(self, rule: Rule, times: Times) -> None:
        most = PERIOD_DAYS[rule.freq]
        places = (divmod(p - (p > 0), times.count) for p in rule.bysetpos)
        self._places = [(nth, times.select(at)) for nth, at in places if -most <= nth < most]
        self._of: dict[int, list[Place]] = {}

    def of(self, days: int) -> list[Place]:
        """The places chosen from a period of so many days, in order."""
        chosen = self._of.get(days)
        if chosen is None:
            found = {(nth % days, time) for nth, time in self._places if -days <= nth < days}
            chosen = self._of[days] = sorted(found)
        return chosen


class ChosenWalls:
    """The readings chosen from periods in order, each a first day and its days as bits.

    Those before `dtstart` do not count.
    """

    __slots__ = ("_before", "_missed", "_periods", "_positions", "_starts")

    def __init__(
        self, periods: Iterable[tuple[int, int]], positions: Positions, dtstart: int
    ) -> None:
        self._positions = positions
        self._periods = [period for period in periods if self._places(period)]
        self._starts = [start for start, _ in self._periods]
        sizes = (len(self._places(period)) for period in self._periods)
        self._before = list(accumulate(sizes, initial=0))
        self._missed = 0
        self._missed = self.rank(dtstart - 1)

    @property
    def count(self) -> int:
        return self._before[-1] - self._missed

    def at_or_after(self, wall: int) -> int:
        for start, days in self._periods[self._period_at(wall) :]:
            places = self._places((start, days))
            at = bisect_left(places, wall, key=lambda place: _reading(start, days, place))
            if at < len(places):
                return _reading(start, days, places[at])
        return NEVER

    def rank(self, wall: int) -> int:
        if not self._periods:
            return 0
        period = self._period_at(wall)
        start, days = self._periods[period]
        places = self._places((start, days))
        at = bisect_right(places, wall, key=lambda place: _reading(start, days, place))
        return self._before[period] + at - self._missed

    def _period_at(self, wall: int) -> int:
        """The last period that has begun by then, else the first."""
        return max(bisect_right(self._starts, wall // DAY) - 1, 0)

    def _places(self, period: tuple[int, int]) -> list[Place]:
        return self._positions.of(period[1].bit_count())


def _reading(start: int, days: int, place: Place) -> int:
    nth, time = place
    return (start + nth_of(days, nth)) * DAY + time
