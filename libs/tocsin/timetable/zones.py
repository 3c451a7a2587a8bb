"""Time zones as lists of spans: stretches of time with one offset from UTC.

The data is that of the pinned `tzdata` package, whatever the machine has, read with the standard
library's `zoneinfo`. Other users of `zoneinfo` in the process are not affected.
"""

from bisect import bisect_right
from datetime import datetime, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import tzdata

from tocsin.timetable.instants import DAY

TZDATA_VERSION: str = tzdata.IANA_VERSION
"""The release of the tz database that decides, such as 2026f."""

CYCLE = 146_097 * DAY
"""Seconds in 400 years: the calendar, weekdays included, repeats after them."""

LATE = 4_102_444_800
"""2100-01-01T00:00:00Z. From there each zone follows one yearly rule, so it repeats by CYCLE."""

ERA = 1 << 26
"""Seconds (two years) whose spans are found together, when one of them is first asked for."""

# Offsets are compared every PROBE days. Two changes come no nearer to each other than 6.9 days
# (Recife in 2000, Gaza in 2040); a test holds the database to that.
PROBE = 4 * DAY
_WALL_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a reading, in no zone


class Span(NamedTuple):
    """A stretch of time, start <= instant < end, in epoch seconds, with one offset.

    `before` and `after` are the offsets of the neighbours. Where they equal `offset` the border is
    only one of an era, and nothing happens at it.
    """

    start: int
    end: int
    offset: int
    before: int
    after: int


class Zone:
    """A time zone. Instants and readings are seconds, a reading as if the wall showed UTC."""

    def __init__(self, name: str, info: ZoneInfo) -> None:
        self.name = name
        self._info = info
        self._eras: dict[int, tuple[list[int], list[Span]]] = {}

    def span(self, instant: int) -> Span:
        """The span that holds the instant (any from the year 100 on, also after 9999)."""
        shift = 0 if instant < LATE else (instant - LATE) // CYCLE * CYCLE
        number = (instant - shift) // ERA
        starts, spans = self._eras.get(number) or self._find_era(number)
        span = spans[bisect_right(starts, instant - shift) - 1]
        if not shift:
            return span
        return span._replace(start=span.start + shift, end=span.end + shift)

    def readings(self, wall: int) -> list[int]:
        """The instants that read `wall`, earliest first: none in a gap, two in an overlap."""
        spans = self._around(wall)
        return [wall - s.offset for s in spans if s.start <= wall - s.offset < s.end]

    def gap(self, wall: int) -> Span | None:
        """The span that begins with the jump over `wall`, or None if `wall` exists."""
        for span in self._around(wall):
            if span.start + span.before <= wall < span.start + span.offset:
                return span
        return None

    def _around(self, wall: int) -> list[Span]:
        # Offsets stay within a day and jumps do too, so two days hold every span that matters.
        spans = [self.span(wall - 2 * DAY)]
        while spans[-1].end <= wall + 2 * DAY:
            spans.append(self.span(spans[-1].end))
        return spans

    def _find_era(self, number: int) -> tuple[list[int], list[Span]]:
        spans = self._find_spans(number * ERA, (number + 1) * ERA)
        era = self._eras[number] = [span.start for span in spans], spans
        return era

    def _find_spans(self, start: int, end: int) -> list[Span]:
        changes = self._changes(start - 2 * DAY, end + 2 * DAY)
        offset = self._offset(start - 2 * DAY)
        borders = [(start, offset, offset)]
        for at, old, new in changes:
            if at <= start:
                borders[0] = (start, old if at == start else new, new)
            elif at < end:
                borders.append((at, old, new))
        last = borders[-1][2]
        after = next((new for at, _, new in changes if at == end), last)
        borders.append((end, last, after))
        return [
            Span(left, right, offset, before, following)
            for (left, before, offset), (right, _, following) in pairwise(borders)
        ]

    def _changes(self, start: int, end: int) -> list[tuple[int, int, int]]:
        """(instant, offset before, offset after) of each change whose reading lies within."""
        readings, walls = _probes(start, end)
        offsets = list(map(self._info.utcoffset, walls))
        return [
            self._change(readings[i], readings[i + 1])
            for i in range(len(readings) - 1)
            if offsets[i] != offsets[i + 1]
        ]

    def _change(self, low: int, high: int) -> tuple[int, int, int]:
        # With fold=0 a zone shows its old offset until the gap or the overlap is over; that
        # reading is the change's instant plus the larger of the two offsets.
        old, new = self._offset(low), self._offset(high)
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset(middle) == old:
                low = middle
            else:
                high = middle
        return high - max(old, new), old, new

    def _offset(self, reading: int) -> int:
        return _whole_seconds(self._info.utcoffset(_wall(reading)))


def zone_names() -> frozenset[str]:
    """Every name that a schedule may use, as spelled: those of `zoneinfo.available_timezones()`
    where the machine has no files of its own."""
    return _NAMES


@cache
def zone_of(name: str) -> Zone:
    """The zone of that name; KeyError if there is none."""
    if name not in _NAMES:
        raise KeyError(name)
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return Zone(name, ZoneInfo.from_file(file, key=name))


@lru_cache(maxsize=64)
def _probes(start: int, end: int) -> tuple[range, list[datetime]]:
    readings = range(start, end + PROBE, PROBE)
    return readings, [_wall(reading) for reading in readings]


def _wall(reading: int) -> datetime:
    return _WALL_EPOCH + timedelta(seconds=reading)


def _whole_seconds(offset: timedelta | None) -> int:
    assert offset is not None  # zoneinfo knows every offset
    return offset // timedelta(seconds=1)


_NAMES = frozenset(files("tzdata").joinpath("zones").read_text("ascii").split()) - {"posixrules"}
