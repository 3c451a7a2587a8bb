"""Occurrences that are late: which of them run, and the record of those that do not.

If the oldest unaccounted occurrence of a job is late by more than `catch_up.after`, all that are
due by now are one backlog. `latest` runs the last, `all` each of them one after another as a
range in `state`, `skip` none; none older than `window`. The job is then settled up to the last.
"""

from collections.abc import Sequence

import msgspec

from tocsin.model.state import Range
from tocsin.timetable import ScheduleFields
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.due import Course, Due
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.firing import Firing
from tocsin_scheduler.core.occurrences import Occurrences
from tocsin_scheduler.core.turn import Turn

TOO_OLD = "catch_up: older than the window"
NOT_CAUGHT_UP = "catch_up: late, and the policy is skip"
COLLAPSED = "catch_up: late, and a later occurrence stands for it"

_STRETCH = 10_000


class Backlogs:
    """Decides what becomes of a late job's occurrences."""

    def __init__(self, book: Book, emission: Emission, occurrences: Occurrences) -> None:
        self._book = book
        self._emission = emission
        self._occurrences = occurrences

    def is_late(self, turn: Turn, firing: Firing, due: int) -> bool:
        return turn.now - due > firing.late_after_ms

    def settle(
        self,
        turn: Turn,
        key: bytes,
        firing: Firing,
        fields: ScheduleFields,
        course: Course,
        first: Due,
        until: int,
    ) -> int:
        """Account the occurrences from `first` that are due by now and scheduled up to `until`.

        Returns the scheduled time up to which the job is settled now. A stretch of more than
        10,000 is accounted in part; what follows it is a backlog still.
        """
        dues, more = _stretch(turn, course, first, until)
        self.account(turn, key, firing, fields, dues, more=more)
        state = self._book.job_state(key)
        settled = max(dues[-1].nominal, state.settled or 0)
        self._book.put_job_state(key, msgspec.structs.replace(state, settled=settled))
        self._book.timers.put(turn.now, key)
        return dues[-1].nominal

    def account(
        self,
        turn: Turn,
        key: bytes,
        firing: Firing,
        fields: ScheduleFields,
        dues: Sequence[Due],
        *,
        more: bool = False,
    ) -> None:
        """One backlog: all of `dues`, consecutive occurrences of `fields`; `more` follow it."""
        old = _older_than(dues, turn.now, firing.window_ms)
        self._missed(turn, key, TOO_OLD, dues[:old])
        inside = dues[old:]
        if not inside:
            return
        if firing.catch_up == "all":
            self._open_range(key, firing, fields, inside)
        elif firing.catch_up == "skip":
            self._missed(turn, key, NOT_CAUGHT_UP, inside)
        elif more:
            self._missed(turn, key, COLLAPSED, inside)
        else:
            self._missed(turn, key, COLLAPSED, inside[:-1])
            last = inside[-1]
            self._occurrences.arrive(turn, key, firing, last.nominal, last.due, "catch_up")

    def account_one(self, turn: Turn, key: bytes, firing: Firing, due: Due) -> None:
        """A late occurrence that no other can stand for, such as a one-off."""
        if firing.window_ms is not None and turn.now - due.due > firing.window_ms:
            self._missed(turn, key, TOO_OLD, [due])
        elif firing.catch_up == "skip":
            self._missed(turn, key, NOT_CAUGHT_UP, [due])
        else:
            self._occurrences.arrive(turn, key, firing, due.nominal, due.due, "catch_up")

    def _open_range(
        self, key: bytes, firing: Firing, fields: ScheduleFields, dues: Sequence[Due]
    ) -> None:
        """Behind what is known already, as a range or by itself, where an older watermark holds."""
        state = self._book.job_state(key)
        covered = max((left.last for left in state.ranges if _is_of(left, fields)), default=-1)
        was_emitted = self._occurrences.was_emitted
        open_dues = [
            due for due in dues if due.nominal > covered and not was_emitted(key, due.nominal)
        ]
        if not open_dues:
            return
        first, last = open_dues[0].nominal, open_dues[-1].nominal
        backlog = Range(
            range_id=f"c{first}",
            cause="catch_up",
            schedule=fields,
            jitter_ms=firing.jitter_ms,
            policy=firing.overlap,
            first=first,
            last=last,
            next=first,
            window_ms=firing.window_ms,
        )
        ranges = [*state.ranges, backlog]
        self._book.put_job_state(key, msgspec.structs.replace(state, ranges=ranges))
        self._book.put_ready(key)

    def _missed(self, turn: Turn, key: bytes, reason: str, dues: Sequence[Due]) -> None:
        """One event for each stretch of them between runs that an earlier owner has emitted."""
        for stretch in self._book.emitted.between(key, dues):
            self._emission.passed_over(turn, key, "missed", reason, *stretch)


def _is_of(left: Range, fields: ScheduleFields) -> bool:
    return left.cause == "catch_up" and left.schedule == fields


def _stretch(turn: Turn, course: Course, first: Due, until: int) -> tuple[list[Due], bool]:
    dues = [first]
    following = course.after(first.nominal)
    while following is not None and following.due <= turn.now and following.nominal <= until:
        if len(dues) == _STRETCH:
            return dues, True
        dues.append(following)
        following = course.after(following.nominal)
    turn.budget.steps -= len(dues)
    return dues, False


def _older_than(dues: Sequence[Due], now: int, window_ms: int | None) -> int:
    """How many of the first are older than the window."""
    if window_ms is None:
        return 0
    return next((i for i, due in enumerate(dues) if now - due.due <= window_ms), len(dues))
