"""Backlogs that run one after another, behind on-time work and at a bounded rate."""

from collections import Counter
from itertools import islice

import msgspec

from tocsin.model.keys import parse_job_key, run_id
from tocsin.model.state import Range
from tocsin_scheduler.core.backlog import TOO_OLD
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.due import Due, course_over
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.firing import Firing
from tocsin_scheduler.core.occurrences import USED_UP, Occurrences, no_pool
from tocsin_scheduler.core.turn import Turn

_TURN_OF_ONE_JOB = 50
_JOBS_AT_ONCE = 100


def suffix_of(left: Range) -> str:
    """What the run ids of a range end in."""
    return "" if left.cause == "catch_up" else f"-b{left.range_id[:8]}"


class Ranges:
    """Takes the jobs with a range in turn, a bounded number of runs of each."""

    def __init__(self, book: Book, emission: Emission, occurrences: Occurrences) -> None:
        self._book = book
        self._emission = emission
        self._occurrences = occurrences
        self._last = b""

    def advance(self, turn: Turn) -> bool:
        """Emit what the budget allows; whether some are left that may emit now."""
        while True:
            some = list(islice(self._book.ready_after(self._last), _JOBS_AT_ONCE))
            for key in some:
                if turn.budget.catch_up <= 0 or turn.budget.spent:
                    return True
                self._last = key
                self._advance_job(turn, key)
            if not some and not self._last:
                return False
            if len(some) < _JOBS_AT_ONCE:
                self._last = b""

    def _advance_job(self, turn: Turn, key: bytes) -> None:
        """A bounded number of runs; a job that cannot go on leaves the jobs that may emit."""
        firing = self._book.firing(key)
        if firing is None or self._is_paused(key):
            self._book.delete_ready(key)
            return
        passed = Counter[str]()
        for _ in range(min(_TURN_OF_ONE_JOB, turn.budget.catch_up)):
            left = self._book.job_state(key).ranges
            if not left or not self._emit_next(turn, key, firing, left[0]):
                self._book.delete_ready(key)
                break
            passed[left[0].range_id] += left[0].cause == "backfill"
        for backfill_id, count in (+passed).items():
            self._emission.about(turn, key, "backfill_progress", backfill_id, count=count)
        if not self._book.job_state(key).ranges:
            self._book.delete_ready(key)
            self._occurrences.released(turn, key)

    def _is_paused(self, key: bytes) -> bool:
        held = self._book.held(key)
        return held is not None and held.job is not None and held.job.status == "paused"

    def _emit_next(self, turn: Turn, key: bytes, firing: Firing, left: Range) -> bool:
        """One occurrence of the range; False where the range has to wait for a run to end."""
        if left.policy != "allow_all" and self._book.presence(key).unfinished:
            return False
        course = course_over(left, key)
        due = course.at(left.next)
        turn.budget.catch_up -= 1
        self._account(turn, key, firing, left, due)
        following = course.after(left.next)
        done = following is None or following.nominal > left.last
        self._replace(key, None if done else following, left)
        if done and left.cause == "backfill":
            self._emission.about(turn, key, "backfill_finished", left.range_id)
        return True

    def _account(self, turn: Turn, key: bytes, firing: Firing, left: Range, due: Due) -> None:
        occurrences, suffix = self._occurrences, suffix_of(left)
        counted = left.cause == "catch_up"
        if occurrences.was_emitted(key, due.nominal, suffix):
            return
        if left.window_ms is not None and turn.now - due.due > left.window_ms:
            self._emission.passed_over(turn, key, "missed", TOO_OLD, 1, due.nominal, due.nominal)
        elif not self._emission.has_pool(firing.pool):
            name = run_id(*parse_job_key(key.decode()), due.nominal, suffix)
            reason = no_pool(firing.pool)
            self._emission.skipped(turn, key, due.nominal, reason, name, left.cause)
        elif counted and occurrences.is_used_up(key, firing.max_runs):
            self._emission.skipped(turn, key, due.nominal, USED_UP)
        elif left.policy == "allow_all" and firing.overlap == "allow_all":
            self._emission.occurrence(
                turn, key, firing, due.nominal, due.due, left.cause, False, suffix
            )
            if counted:
                occurrences.count_run(turn, key, firing.max_runs, due.nominal)
        else:
            occurrences.emit_tracked(turn, key, firing, due.nominal, due.due, left.cause, suffix)

    def _replace(self, key: bytes, following: Due | None, left: Range) -> None:
        state = self._book.job_state(key)
        rest = state.ranges[1:]
        if following is not None:
            rest = [msgspec.structs.replace(left, next=following.nominal), *rest]
        self._book.put_job_state(key, msgspec.structs.replace(state, ranges=rest))
