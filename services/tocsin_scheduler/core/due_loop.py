"""The loop that takes what is due out of the index, in the order of places."""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import islice

from tocsin.timetable import due_ms
from tocsin_scheduler.core.backlog import Backlogs
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.due import Course, Due
from tocsin_scheduler.core.firing import Firing, schedule_from
from tocsin_scheduler.core.occurrences import Occurrences
from tocsin_scheduler.core.place import end_of, instant_of, key_of, place_of
from tocsin_scheduler.core.turn import Turn

_NO_END = 1 << 62
_STRETCH = 256


class DueLoop:
    """Accounts occurrences and puts each job's next one into the index.

    An occurrence that follows within the same pass is kept in a heap beside the index, since the
    scan does not see what was put after it began.
    """

    def __init__(self, book: Book, backlogs: Backlogs, occurrences: Occurrences) -> None:
        self._book = book
        self._backlogs = backlogs
        self._occurrences = occurrences

    def advance(self, turn: Turn) -> bool:
        """Move the turn's place towards its `now`; whether the budget ended before."""
        limit = end_of(turn.now)
        beside: list[tuple[bytes, int]] = []
        stored = self._ahead(self._book.due_between(turn.place, limit))
        entry = next(stored, None)
        budget = turn.budget
        while entry is not None or beside:
            if budget.spent:
                for place, nominal in beside:
                    self._book.put_due(place, nominal)
                return True
            if beside and (entry is None or beside[0] < entry):
                place, nominal = heappop(beside)
            else:
                assert entry is not None
                place, nominal = entry
                self._book.delete_due(place)
                entry = next(stored, None)
            budget.steps -= 1
            following = self._fire(turn, place, nominal)
            turn.place = place
            if following is None:
                continue
            if following.place < limit:
                heappush(beside, (following.place, following.nominal))
            else:
                self._book.put_due(following.place, following.nominal)
        turn.place = max(turn.place, limit)
        return False

    def _ahead(self, stored: Iterator[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
        """The same entries; what is needed of their jobs is read a stretch at a time."""
        while stretch := list(islice(stored, _STRETCH)):
            self._book.prefetch([place for place, _ in stretch])
            yield from stretch

    def _fire(self, turn: Turn, place: bytes, nominal: int) -> Due | None:
        """Account the occurrence, or the backlog that begins with it; what comes next."""
        key = key_of(place)
        firing = self._book.firing(key)
        if firing is None:
            return None
        schedule = schedule_from(firing.schedule)
        due = instant_of(place)
        if turn.now - due <= firing.late_after_ms:
            self._occurrences.arrive(turn, key, firing, nominal, due, "schedule")
        elif schedule.at_ms is not None:
            self._backlogs.account_one(turn, key, firing, Due(nominal, due, place))
        else:
            course = Course(schedule, firing.offset_ms, firing.priority, key)
            first = Due(nominal, due, place)
            nominal = self._backlogs.settle(
                turn, key, firing, schedule.fields, course, first, _NO_END
            )
        return self._following(turn, key, firing, nominal)

    def _following(self, turn: Turn, key: bytes, firing: Firing, nominal: int) -> Due | None:
        schedule = schedule_from(firing.schedule)
        following = schedule.next_ms(nominal)
        if following is None or self._occurrences.is_used_up(key, firing.max_runs):
            # Of a one-off it is known by now when there is anything to look after.
            kept_ms = 0 if schedule.at_ms is None else firing.keep_completed_ms
            self._book.timers.put(turn.now + kept_ms, key)
            return None
        due = following
        if firing.offset_ms:
            due = due_ms(following, schedule.next_ms(following), firing.offset_ms)
        return Due(following, due, place_of(due, firing.priority, key))
