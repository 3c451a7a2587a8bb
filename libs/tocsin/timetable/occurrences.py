"""Occurrences: instants in order, by kind of schedule. All in UTC epoch milliseconds."""

from typing import Protocol

from tocsin.timetable.instants import DAY, LAST, LAST_MS
from tocsin.timetable.walls import Walls
from tocsin.timetable.zones import CYCLE, LATE, Span, Zone


class Occurrences(Protocol):
    """A set of instants."""

    def next_ms(self, after_ms: int) -> int | None:
        """The smallest that is > `after_ms`, or None."""


class Once:
    """The one instant of an `at`, and the rule for local times that made or chose it, if any."""

    __slots__ = ("at_ms", "dst_rule")

    def __init__(self, at_ms: int, dst_rule: str | None = None) -> None:
        self.at_ms = at_ms
        self.dst_rule = dst_rule

    def next_ms(self, after_ms: int) -> int | None:
        return self.at_ms if after_ms < self.at_ms else None


class Interval:
    """first_ms + k * every_ms, k >= 0."""

    __slots__ = ("every_ms", "first_ms")

    def __init__(self, first_ms: int, every_ms: int) -> None:
        self.first_ms = first_ms
        self.every_ms = every_ms

    def next_ms(self, after_ms: int) -> int | None:
        past = after_ms - self.first_ms
        found = self.first_ms if past < 0 else after_ms + self.every_ms - past % self.every_ms
        return found if found <= LAST_MS else None


class Unanchored:
    """The occurrences of an interval that has neither a start nor a creation time yet."""

    def next_ms(self, after_ms: int) -> int | None:
        """Raises ValueError."""
        raise ValueError("an interval without start needs its creation time")


class Until:
    """Those of another set that are <= `last_ms`."""

    __slots__ = ("_last_ms", "occurrences")

    def __init__(self, occurrences: Occurrences, last_ms: int) -> None:
        self.occurrences = occurrences
        self._last_ms = last_ms

    def next_ms(self, after_ms: int) -> int | None:
        found = self.occurrences.next_ms(after_ms)
        return found if found is not None and found <= self._last_ms else None


class WallOccurrences:
    """The instants at which the clocks of a zone show the readings of a set.

    In a gap the rule `gap` decides (`next`, `shift` or `skip`), in an overlap `fold` (`first`,
    `second` or `both`).
    """

    __slots__ = ("_fold", "_gap", "_walls", "_zone")

    def __init__(self, walls: Walls, zone: Zone, gap: str, fold: str) -> None:
        self._walls = walls
        self._zone = zone
        self._gap = gap
        self._fold = fold

    def next_ms(self, after_ms: int) -> int | None:
        instant = max(after_ms // 1000 + 1, 0)
        found, following = self._search(self._zone.span(instant), instant)
        return found * 1000 if found <= LAST else self._later(instant, following)

    def _later(self, begin: int, instant: int) -> int | None:
        """The first from `instant` on, where there is none from `begin` up to it."""
        end = LAST + 1
        if self._walls.periodic:
            # What has not come in 400 years under the zone's last rule never will.
            end = min(end, max(begin, LATE) + CYCLE + 4 * DAY)
        while instant < end:
            span = self._zone.span(instant)
            found, instant = self._search(span, instant)
            if found <= LAST:
                return found * 1000
        return None

    def _search(self, span: Span, instant: int) -> tuple[int, int]:
        """The first occurrence in the span that is >= `instant`, which lies in the span; or if
        there is none, something later than LAST and an instant before which there is none."""
        start, end, offset, before, after = span
        low, high = instant + offset, end + offset
        if before > offset and self._fold == "first":
            low = max(low, start + before)
        if after < offset and self._fold == "second":
            high = end + after
        wall = self._walls.at_or_after(low)
        made = self._made_up(span, instant) if before < offset else LAST + 1
        if wall < high:
            return min(made, wall - offset), end
        if low > end + after:  # readings before `low` come again after this span
            return made, end
        return made, max(end, wall - offset - 2 * DAY)

    def _made_up(self, span: Span, instant: int) -> int:
        """The first occurrence >= `instant` that stands for a reading in the gap before the span;
        or something later than LAST."""
        start, _, offset, before, _ = span
        jump_end = start + offset
        if self._gap == "next" and instant == start:
            return start if self._walls.at_or_after(start + before) < jump_end else LAST + 1
        if self._gap == "shift" and instant + before < jump_end:
            wall = self._walls.at_or_after(instant + before)
            return wall - before if wall < jump_end else LAST + 1
        return LAST + 1

    def dst_rule(self, instant: int) -> str | None:
        """The rule that made or chose this occurrence, as `gap=next` or `fold=first`, if any did.

        An occurrence that a gap's times collapse to counts as made, even if its own reading is in
        the set.
        """
        span = self._zone.span(instant)
        start, end, offset, before, after = span
        if before < offset and self._made_up(span, instant) == instant:
            return f"gap={self._gap}"
        wall = instant + offset
        repeated = wall < start + before or wall >= end + after
        return f"fold={self._fold}" if repeated else None


class ReadInstants(WallOccurrences):
    """Every real instant whose reading is in the set, in both passes of an overlap: elapsed cron.

    That is what `skip` and `both` amount to, but here no rule for local times acts.
    """

    __slots__ = ()

    def __init__(self, walls: Walls, zone: Zone) -> None:
        self._walls, self._zone = walls, zone
        self._gap, self._fold = "skip", "both"

    def dst_rule(self, instant: int) -> None:
        """No rule acts."""
        return
