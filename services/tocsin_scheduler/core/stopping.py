"""Cancelling runs, and dropping what is left of a backlog."""

from collections.abc import Iterator

import msgspec

from tocsin.model.events import EventType
from tocsin.model.state import Range, RunState
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.due import Due, course_over
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.turn import Turn


class Stopping:
    """What nobody executes ends at once; what may be executing is told to stop and awaited.

    A run that is cancelled before anybody has started it counts as ended after twice the time
    within which a worker claims what it executes.
    """

    def __init__(
        self, book: Book, emission: Emission, endings: Endings, config: CoreConfig
    ) -> None:
        self._book = book
        self._emission = emission
        self._endings = endings
        self._config = config

    def stop_all(self, turn: Turn, key: bytes, reason: str) -> None:
        """Cancel the unfinished runs of the job and record the rest of its backlog as missed."""
        self.drop_ranges(turn, key, reason)
        for name, state in self._book.run_states(key):
            if state.phase not in ("waiting", "dead", "cancelling"):
                self.cancel(turn, key, name, state, reason)

    def cancel(self, turn: Turn, key: bytes, name: str, state: RunState, reason: str) -> None:
        if state.phase in ("pending", "running"):
            self._emission.cancel(turn, name, state.attempt)
            wait = 2 * self._config.claim_after_ms
            if state.phase == "running":
                wait = state.lease_ms or self._config.lease_ms
            stopping = msgspec.structs.replace(
                state, phase="cancelling", deadline=turn.now + wait, run=None
            )
            self._book.put_run_state(key, name, stopping)
        else:
            self._endings.end(turn, key, name, state, "cancelled", reason)

    def drop_ranges(self, turn: Turn, key: bytes, reason: str) -> None:
        """What is left of backlogs is missed, of backfills skipped; each in a counted event."""
        state = self._book.job_state(key)
        if not state.ranges:
            return
        for left in state.ranges:
            self._record(turn, key, left, reason)
        self._book.put_job_state(key, msgspec.structs.replace(state, ranges=[]))
        self._book.delete_ready(key)

    def _record(self, turn: Turn, key: bytes, left: Range, reason: str) -> None:
        kind: EventType = "missed" if left.cause == "catch_up" else "skipped"
        for stretch in self._book.emitted.between(key, _rest(left, key)):
            self._emission.passed_over(turn, key, kind, reason, *stretch, cause=left.cause)


def _rest(left: Range, key: bytes) -> Iterator[Due]:
    """What is still to come of a range."""
    course = course_over(left, key)
    due = course.after(left.next - 1)
    while due is not None and due.nominal <= left.last:
        yield due
        due = course.after(due.nominal)
