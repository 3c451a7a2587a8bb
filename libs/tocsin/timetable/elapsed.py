"""Rules that count real hours, minutes or seconds from an anchor.

Candidates are anchor + k * step; the BY parts keep those whose reading they match.
"""

from functools import cached_property

from tocsin.timetable.instants import DAY, LAST
from tocsin.timetable.leaps import Leaps
from tocsin.timetable.limits import LIMITS, limited_walls, limited_weekdays
from tocsin.timetable.rule import UNIT_SECONDS, Rule
from tocsin.timetable.walls import NEVER, CalendarWalls
from tocsin.timetable.zones import Span, Zone

_TRIES = 8
"""How often a search tries the next candidate before it leaps."""

_KEPT_DAYS = 4096
"""How many kinds of days are remembered by their count of candidates kept."""


class ElapsedOccurrences:
    """The occurrences of an HOURLY, MINUTELY or SECONDLY rule; COUNT counts those that are kept.

    `anchor` is an instant in seconds. UNTIL is not applied here.
    """

    def __init__(self, rule: Rule, anchor: int, zone: Zone) -> None:
        self._anchor = anchor
        self._step = rule.interval * UNIT_SECONDS[rule.freq]
        self._zone = zone
        self._count = rule.count
        self._limits = limited_walls(rule) if rule.parts & LIMITS else None
        if self._limits is not None:
            self._leaps = Leaps(self._step, limited_weekdays(rule), self._limits.times)
        self._by_first: dict[int, int] = {}
        self._counted = (anchor, 0)
        self._exhausted = NEVER

    def next_ms(self, after_ms: int) -> int | None:
        """The smallest occurrence > `after_ms`, or None."""
        found = self.find(max(after_ms // 1000 + 1, self._anchor), LAST)
        return found * 1000 if found is not None and self._allows(found) else None

    def find(self, instant: int, last: int) -> int | None:
        """The first candidate kept, without regard to COUNT, in seconds from `instant` (not before
        the anchor) to `last`; or None."""
        if self._limits is None:
            found = self._candidate(instant)
            return found if found <= last else None
        while instant <= last:
            span = self._zone.span(instant)
            kept, instant = self._search(self._limits, span, instant)
            if kept is not None:
                return kept if kept <= last else None
        return None

    def _search(self, limits: CalendarWalls, span: Span, instant: int) -> tuple[int | None, int]:
        """The first candidate kept in the span, and an instant before which there is none other."""
        _, end, offset, _, _ = span
        tries = 0
        if not self._leaps.can_meet(self._anchor + offset):
            return None, end
        while instant < end:
            candidate = self._candidate(instant)
            if candidate >= end:
                return None, candidate
            match = limits.at_or_after(candidate + offset)
            if match == candidate + offset:
                return candidate, end
            if match >= NEVER:
                return None, NEVER
            instant = match - offset
            tries += 1
            if tries > _TRIES and instant < end:
                instant = self._leaps.ahead(self._candidate(instant) + offset) - offset
        return None, end

    def _candidate(self, instant: int) -> int:
        """The first candidate >= `instant`."""
        return instant + (self._anchor - instant) % self._step

    @cached_property
    def _runs(self) -> tuple[tuple[int, int], ...]:
        assert self._limits is not None
        return tuple(self._limits.times.runs())

    def _allows(self, instant: int) -> bool:
        """Whether COUNT reaches to this occurrence. What was counted is kept for the next time."""
        if self._count is None or self._limits is None:
            return self._count is None or (instant - self._anchor) // self._step < self._count
        counted_to, count = self._counted
        if instant < counted_to or instant >= self._exhausted:
            return instant < counted_to
        count += self._kept(self._limits, counted_to, instant + 1)
        if count > self._count:
            self._exhausted = instant
            return False
        self._counted = (instant + 1, count)
        return True

    def _kept(self, limits: CalendarWalls, start: int, end: int) -> int:
        """How many candidates are kept from `start` to before `end`."""
        kept = 0
        while start < end:
            span = self._zone.span(start)
            stop = min(end, span.end)
            kept += self._kept_readings(
                limits, start + span.offset, stop + span.offset, span.offset
            )
            start = stop
        return kept

    def _kept_readings(self, limits: CalendarWalls, low: int, high: int, offset: int) -> int:
        kept = 0
        day = limits.day_at_or_after(low // DAY)
        while day * DAY < high:
            first = (self._anchor + offset - day * DAY) % self._step
            if low <= day * DAY and (day + 1) * DAY <= high:
                kept += self._kept_in_day(limits, first)
            else:
                begin, end = max(low - day * DAY, 0), min(high - day * DAY, DAY)
                kept += self._kept_times(limits, first, begin, end - 1)
            day = limits.day_at_or_after(day + 1)
        return kept

    def _kept_in_day(self, limits: CalendarWalls, first: int) -> int:
        """How many times of a whole day are kept, if its first candidate is at `first`."""
        kept = self._by_first.get(first)
        if kept is None:
            if len(self._by_first) >= _KEPT_DAYS:
                self._by_first.clear()
            kept = self._by_first[first] = self._kept_times(limits, first, 0, DAY - 1)
        return kept

    def _kept_times(self, limits: CalendarWalls, first: int, low: int, high: int) -> int:
        """How many of the times first + k * step, k >= 0, are allowed and in low..high."""
        first += max(-((first - low) // self._step), 0) * self._step
        candidates = range(first, high + 1, self._step)
        if len(candidates) < len(self._runs):
            return sum(limits.times.at_or_after(time) == time for time in candidates)
        runs = ((max(start, low), min(stop, high)) for start, stop in self._runs)
        return sum(_multiples(start - first, stop - first, self._step) for start, stop in runs)


def _multiples(low: int, high: int, step: int) -> int:
    """How many multiples of `step`, from 0 on, lie in low..high."""
    return max(high // step - max(low - 1, -1) // step, 0) if high >= 0 else 0
