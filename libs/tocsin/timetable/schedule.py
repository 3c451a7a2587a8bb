"""Schedules: what was written, and the instants it stands for."""

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

import msgspec

from tocsin.timetable.build import occurrences_of
from tocsin.timetable.fieldset import Kind, ScheduleFields
from tocsin.timetable.instants import LAST_MS, to_datetime, to_ms
from tocsin.timetable.occurrences import Interval, Occurrences, Once

REMEMBERED_ANSWERS = 64
"""How many answers a schedule keeps."""

REMEMBERED_SCHEDULES = 1 << 13
"""How many schedules `schedule_of` keeps."""

_COMPUTED = (Interval, Once)
_UNKNOWN = -1  # no answer is before 1970


class Schedule:
    """A set of instants, its occurrences, within a window. Immutable; safe to share by threads."""

    __slots__ = ("_answers", "_first_ms", "_last_ms", "fields", "kind", "occurrences")

    def __init__(self, fields: ScheduleFields, occurrences: Occurrences) -> None:
        self.fields = fields
        self.kind: Kind = fields.kind
        self.occurrences = occurrences
        self._answers: dict[int, int | None] | None = (
            None if isinstance(occurrences, _COMPUTED) else {}
        )
        self._first_ms = 0 if fields.start is None else fields.start
        self._last_ms = LAST_MS if fields.end is None else fields.end - 1

    @property
    def at_ms(self) -> int | None:
        """The instant of a one-off, else None."""
        return self.occurrences.at_ms if isinstance(self.occurrences, Once) else None

    @property
    def _anchor_ms(self) -> int | None:
        return self.occurrences.first_ms if isinstance(self.occurrences, Interval) else None

    def next_ms(self, after_ms: int) -> int | None:
        """The smallest occurrence > `after_ms`, in epoch milliseconds, or None if none is left.

        Answers are remembered, except for intervals and one-offs, which are cheaper to compute.
        ValueError for an interval that has neither a start nor a creation time.
        """
        after_ms = max(after_ms, self._first_ms - 1)
        if self._answers is None:
            return self._within(self.occurrences.next_ms(after_ms))
        found = self._answers.get(after_ms, _UNKNOWN)
        if found == _UNKNOWN:
            found = self._within(self.occurrences.next_ms(after_ms))
            if len(self._answers) >= REMEMBERED_ANSWERS:
                self._answers.clear()
            self._answers[after_ms] = found
        return found

    def occurrences_ms(self, after_ms: int) -> Iterator[int]:
        """The occurrences > `after_ms` in order, lazily."""
        following = self.next_ms(after_ms)
        while following is not None:
            yield following
            following = self.next_ms(following)

    def after(self, instant: datetime) -> Iterator[datetime]:
        """The occurrences strictly after an aware instant: aware UTC, in order, lazily."""
        return map(to_datetime, self.occurrences_ms(to_ms(instant)))

    def with_start(self, start_ms: int) -> "Schedule":
        """The same schedule with another start, which anchors an interval: `start` itself is then
        its first occurrence, where the creation time is none."""
        return schedule_of(self.fields.with_start(start_ms))

    def _within(self, found_ms: int | None) -> int | None:
        return found_ms if found_ms is not None and found_ms <= self._last_ms else None

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Schedule)
            and self.fields == other.fields
            and self._anchor_ms == other._anchor_ms
        )

    def __hash__(self) -> int:
        return hash((self.fields, self._anchor_ms))

    def __repr__(self) -> str:
        fields = msgspec.structs.asdict(self.fields)
        given = {name: value for name, value in fields.items() if value is not None}
        return f"Schedule({', '.join(f'{name}={value!r}' for name, value in given.items())})"


def schedule_of(fields: ScheduleFields) -> Schedule:
    """The schedule of fields that were valid before.

    The same object for equal fields, but for intervals and one-offs: of these many are each one's
    own, and quickly made. Raises InvalidSchedule if they are not valid (any more, as tz data
    changes).
    """
    is_shared = fields.cron is not None or fields.rrule is not None
    return _remembered(fields) if is_shared else _made(fields)


def _made(fields: ScheduleFields) -> Schedule:
    return Schedule(fields, occurrences_of(fields, None))


_remembered = lru_cache(maxsize=REMEMBERED_SCHEDULES)(_made)
