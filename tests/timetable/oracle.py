"""A naive cron: it walks clocks minute by minute or second by second, and knows nothing else.

It shares no code with the evaluator. Zones come from `zoneinfo` itself, fields are sets of
numbers or predicates over a date, and wall times are resolved as the semantics explain it.
"""

import calendar
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import files
from itertools import pairwise
from zoneinfo import ZoneInfo

SECOND = timedelta(seconds=1)
DatePredicate = Callable[[date], bool]


@cache
def zone(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@dataclass(frozen=True)
class NaiveCron:
    """What an expression means, piece by piece, beside its text."""

    text: str
    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    day: DatePredicate
    weekday: DatePredicate
    both: bool
    elapsed: bool

    def matches(self, reading: datetime) -> bool:
        return (
            reading.second in self.seconds
            and reading.minute in self.minutes
            and reading.hour in self.hours
            and self.matches_date(reading.date())
        )

    def matches_date(self, day: date) -> bool:
        found = (self.day(day), self.weekday(day))
        return day.month in self.months and (all(found) if self.both else any(found))

    def between(
        self, start: datetime, end: datetime, zone: ZoneInfo, gap: str, fold: str
    ) -> list[datetime]:
        """The occurrences after `start`, up to and with `end`."""
        walk = (
            self._elapsed(start, end, zone)
            if self.elapsed
            else self._wall(start, end, zone, gap, fold)
        )
        return sorted({instant for instant in walk if start < instant <= end})

    def _elapsed(self, start: datetime, end: datetime, zone: ZoneInfo) -> Iterator[datetime]:
        step = self._step(start, end, zone)
        instant = start.replace(second=0, microsecond=0)
        while instant <= end:
            if self.matches(instant.astimezone(zone)):
                yield instant
            instant += step

    def _wall(
        self, start: datetime, end: datetime, zone: ZoneInfo, gap: str, fold: str
    ) -> Iterator[datetime]:
        margin = timedelta(hours=26)  # more than any jump of a clock
        reading = (start.astimezone(zone).replace(tzinfo=None) - margin).replace(
            second=0, microsecond=0
        )
        last = end.astimezone(zone).replace(tzinfo=None) + margin
        while reading <= last:
            if not self.matches_date(reading.date()):
                reading = reading.replace(hour=0, minute=0) + timedelta(days=1)
            elif reading.hour not in self.hours:
                reading = reading.replace(minute=0) + timedelta(hours=1)
            else:
                for second in self.seconds if reading.minute in self.minutes else ():
                    if self.matches(reading.replace(second=second)):
                        yield from resolve(reading.replace(second=second), zone, gap, fold)
                reading += timedelta(minutes=1)

    def _step(self, start: datetime, end: datetime, zone: ZoneInfo) -> timedelta:
        offsets = (start.astimezone(zone).utcoffset(), end.astimezone(zone).utcoffset())
        whole = all(offset is not None and offset.seconds % 60 == 0 for offset in offsets)
        return SECOND * (60 if whole and self.seconds == {0} else 1)


def resolve(reading: datetime, zone: ZoneInfo, gap: str, fold: str) -> list[datetime]:
    """The instants that a wall time stands for."""
    before = reading.replace(tzinfo=zone, fold=0).astimezone(UTC)
    after = reading.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if before.astimezone(zone).replace(tzinfo=None) != reading:
        if gap == "next":
            return [change_between(after, before, zone)]
        return [before] if gap == "shift" else []
    return {"first": [before], "second": [after], "both": [before, after]}[fold]


def change_between(low: datetime, high: datetime, zone: ZoneInfo) -> datetime:
    """The first instant with the offset of `high`, where that of `low` is another."""
    old = low.astimezone(zone).utcoffset()
    while high - low > SECOND:
        middle = low + (high - low) // (2 * SECOND) * SECOND
        if middle.astimezone(zone).utcoffset() == old:
            low = middle
        else:
            high = middle
    return high


@cache
def changes(name: str, year: int) -> list[datetime]:
    """The changes of a zone's offset in a year, as far as they last for a day."""
    days = [datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366)]
    offsets = [day.astimezone(zone(name)).utcoffset() for day in days]
    pairs = zip(pairwise(days), pairwise(offsets), strict=True)
    return [change_between(*border, zone(name)) for border, (old, new) in pairs if old != new]


def days_in_month(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def cron_weekday(day: date) -> int:
    return day.isoweekday() % 7


def nearest_workday(day: date, nominal: int) -> bool:
    """Whether `day` is the Monday-Friday nearest to day `nominal` of its month."""
    if nominal > days_in_month(day):
        return False
    target = day.replace(day=nominal)
    for distance in (0, -1, 1, -2, 2):
        near = target + timedelta(days=distance)
        if near.month == target.month and near.isoweekday() <= 5:
            return near == day
    return False


def last_workday(day: date) -> bool:
    rest = [day.replace(day=n) for n in range(day.day + 1, days_in_month(day) + 1)]
    return day.isoweekday() <= 5 and all(later.isoweekday() > 5 for later in rest)
