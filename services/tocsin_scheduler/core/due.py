"""The first occurrence of a definition that is not accounted yet."""

from typing import NamedTuple

from tocsin.model.jobs import Job, Priority
from tocsin.model.state import Range
from tocsin.timetable import Schedule, due_ms, jitter_offset_ms, schedule_of
from tocsin_scheduler.core.place import instant_of, place_of

_FIRST_LOOK_BACK_MS = 1_000


class Due(NamedTuple):
    """An occurrence: its nominal time, its due instant, its place in the due index."""

    nominal: int
    due: int
    place: bytes


class Course(NamedTuple):
    """The occurrences of one definition, with their due instants and places."""

    schedule: Schedule
    offset_ms: int
    priority: Priority
    key: bytes

    def after(self, nominal: int) -> Due | None:
        """The first occurrence with a nominal time later than `nominal`."""
        found = self.schedule.next_ms(nominal)
        return None if found is None else self.at(found)

    def at(self, nominal: int) -> Due:
        """The occurrence at `nominal`, which must be one."""
        due = nominal
        if self.offset_ms:
            due = due_ms(nominal, self.schedule.next_ms(nominal), self.offset_ms)
        return Due(nominal, due, place_of(due, self.priority, self.key))

    def has(self, nominal: int) -> bool:
        return self.schedule.next_ms(nominal - 1) == nominal

    def first(self, base: int, place: bytes) -> Due | None:
        """What is due first behind `place` of a definition of which nothing else is known: the
        instant of a one-off, else an occurrence later than `base`."""
        at = self.schedule.at_ms
        if at is None:
            return self.beyond(base, place)
        due = self.at(at)
        return due if due.place > place else None

    def beyond(self, base: int, place: bytes) -> Due | None:
        """The first occurrence later than `base` whose place lies behind `place`.

        Looks back by the jitter: an occurrence may be due after the instant of `place` though its
        nominal time is not. Since each is due before the next one's nominal time, no more than
        the last one up to that instant has to be looked at.
        """
        instant = instant_of(place)
        start = self._last_before(base, instant) if self.offset_ms else instant
        found = self.after(max(base, start - 1))
        while found is not None and found.place <= place:
            found = self.after(found.nominal)
        return found

    def _last_before(self, base: int, instant: int) -> int:
        """A nominal time up to `instant` with few others between, or `instant` itself."""
        back = _FIRST_LOOK_BACK_MS
        while True:
            start = max(base, instant - min(back, self.offset_ms) - 1)
            found = self.schedule.next_ms(start)
            if found is not None and found <= instant:
                return found
            if back >= self.offset_ms or start == base:
                break
            back *= 4
        return instant


def course_of(job: Job) -> Course:
    """The course of an accepted definition."""
    key = str(job.key)
    offset = jitter_offset_ms(key, job.jitter_ms)
    return Course(schedule_of(job.schedule), offset, job.priority, key.encode())


def course_over(backlog: Range, key: bytes) -> Course:
    """The course of the schedule that a range's occurrences came from."""
    offset = jitter_offset_ms(key.decode(), backlog.jitter_ms)
    return Course(schedule_of(backlog.schedule), offset, "low", key)
