"""What workers say of runs, and what the scheduler makes of it.

Acceptance is by run id, attempt and worker; a success counts from anyone. A late or repeated
failure never starts a second chain of attempts.

    pending ──started──► running ──failed──► retrying ──(backoff)──► pending, attempt + 1
       │                    │  └─deferred─► deferred
       │                    └──lease out──► pending, attempt + 1
       └── succeeded, cancelled, expired: from any of them, the end
"""

from collections.abc import Callable, Mapping

import msgspec

from tocsin.model.events import EventType
from tocsin.model.runs import Outcome, OutcomeKind, Run
from tocsin.model.state import RunState
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.emission import Emission, again
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.failures import Failures
from tocsin_scheduler.core.occurrences import COUNTED, Occurrences, pending, sent_away
from tocsin_scheduler.core.place import run_key
from tocsin_scheduler.core.turn import Turn

NEEDS_MEMORY: frozenset[OutcomeKind] = frozenset({"started", "failed", "declined"})
"""Of an untracked run that is not in `state` these begin something, unless the run has ended."""

LAST_WORDS: frozenset[OutcomeKind] = frozenset({"succeeded", "cancelled", "expired"})
"""After these a run has ended, whatever was known of it."""


NOTED: Mapping[OutcomeKind, tuple[EventType, str]] = {
    "cancelled": ("cancelled", "a worker stopped it"),
    "expired": ("expired", "queue_timeout: not started in time"),
}
"""Ends of runs that are told in an event, once."""

LONGEST_AWAY_MS = 600_000
"""No worker sends a run away for longer."""


class Outcomes:
    """Applies one outcome, with its append time."""

    def __init__(
        self,
        book: Book,
        emission: Emission,
        occurrences: Occurrences,
        failures: Failures,
        endings: Endings,
        config: CoreConfig,
    ) -> None:
        self._book = book
        self._emission = emission
        self._occurrences = occurrences
        self._failures = failures
        self._endings = endings
        self._config = config
        self._known: dict[OutcomeKind, Callable[[Turn, bytes, Outcome, RunState, int], None]] = {
            "succeeded": self._succeeded,
            "failed": self._failed,
            "started": self._started,
            "heartbeat": self._heartbeat,
            "deferred": self._deferred,
            "declined": self._declined,
            "cancelled": self._ended,
            "expired": self._ended,
        }

    def needs_memory(self, key: bytes, outcome: Outcome) -> bool:
        """Whether the ids of ended runs decide what the outcome means."""
        return (
            outcome.kind in NEEDS_MEMORY
            and outcome.run is not None
            and not outcome.run.tracked
            and self._book.run_state(key, outcome.run_id) is None
        )

    def apply(self, turn: Turn, key: bytes, outcome: Outcome, append_time: int) -> None:
        state = self._book.run_state(key, outcome.run_id)
        if outcome.is_unsigned:
            self._book.put_ended(outcome.run_id, append_time)
        elif state is not None:
            self._known[outcome.kind](turn, key, outcome, state, append_time)
        else:
            self._of_unknown(turn, key, outcome, append_time)

    def _of_unknown(self, turn: Turn, key: bytes, outcome: Outcome, append_time: int) -> None:
        run = outcome.run
        if self._book.emitted.has(outcome.run_id, outcome.attempt + 1):
            return
        if outcome.kind not in NEEDS_MEMORY and outcome.kind != "deferred":
            self._end_unknown(turn, key, outcome, append_time)
        elif run is None or run.tracked or self._book.ended(outcome.run_id, turn.now):
            if outcome.kind == "started":
                self._emission.cancel(turn, outcome.run_id, outcome.attempt, outcome.worker)
        elif outcome.kind == "failed" and self._is_late(outcome, append_time):
            reason = "a failure of a run that is not known any more came late"
            self._note(turn, key, outcome, reason)
        elif outcome.kind == "failed":
            tracked = msgspec.structs.replace(run, tracked=True)
            self._failures.failed(turn, tracked, outcome, append_time)
        elif outcome.kind == "declined":
            self._emit_again(turn, key, run, outcome, append_time)
        elif outcome.kind == "deferred":
            self._put_deferred(key, outcome, append_time)
        else:
            self._put_running(key, outcome, append_time)

    def _end_unknown(self, turn: Turn, key: bytes, outcome: Outcome, append_time: int) -> None:
        if outcome.kind == "heartbeat":
            self._emission.cancel(turn, outcome.run_id, outcome.attempt, outcome.worker)
            return
        if outcome.kind in NOTED and not self._book.ended(outcome.run_id, turn.now):
            kind, reason = NOTED[outcome.kind]
            self._note(turn, key, outcome, reason, kind)
        self._book.put_ended(outcome.run_id, append_time)

    def _is_late(self, outcome: Outcome, append_time: int) -> bool:
        if outcome.started_time is None:
            return False
        return append_time - outcome.started_time > 2 * self._config.claim_after_ms

    def _succeeded(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        if state.phase == "dead":
            self._note(turn, key, outcome, "it succeeded after it had been given up as dead")
            return
        if outcome.attempt < state.attempt and state.phase in ("pending", "running"):
            self._emission.cancel(turn, outcome.run_id, state.attempt)
        if state.cause in COUNTED:
            self._failures.succeeded(key)
        self._over(turn, key, outcome, append_time)

    def _failed(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        if not self._is_current(outcome, state):
            return
        if state.phase == "cancelling":
            self._stopped(turn, key, outcome, state, "it failed while it was being stopped")
        elif outcome.run is not None:
            run = msgspec.structs.replace(outcome.run, tracked=True)
            self._failures.failed(turn, run, outcome, append_time)

    def _started(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        current = outcome.attempt == state.attempt
        if state.phase == "pending" and current and self._is_of(outcome.run, state):
            self._put_running(key, outcome, append_time)
        elif state.phase == "running" and current and outcome.worker == state.worker:
            self._book.put_heartbeat(run_key(key, outcome.run_id), append_time)
        else:
            self._emission.cancel(turn, outcome.run_id, outcome.attempt, outcome.worker)

    def _heartbeat(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        mine = outcome.attempt == state.attempt and outcome.worker == state.worker
        if state.phase in ("running", "cancelling") and mine:
            self._book.put_heartbeat(run_key(key, outcome.run_id), append_time)
        else:
            self._emission.cancel(turn, outcome.run_id, outcome.attempt, outcome.worker)

    def _deferred(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        if self._is_current(outcome, state) and state.phase != "cancelling":
            self._put_deferred(key, outcome, append_time)

    def _declined(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        if outcome.attempt != state.attempt or outcome.run is None:
            return
        if state.phase == "cancelling":
            self._stopped(turn, key, outcome, state, "it was handed back while being stopped")
        elif self._is_current(outcome, state) and self._is_of(outcome.run, state):
            self._emit_again(turn, key, outcome.run, outcome, append_time)

    def _emit_again(
        self, turn: Turn, key: bytes, run: Run, outcome: Outcome, append_time: int
    ) -> None:
        """The same attempt: at once, or when the worker says that there may be room for it."""
        delay = None if outcome.error is None else outcome.error.retry_after_ms
        if delay is None:
            self._occurrences.emit_run(turn, key, again(run, run.attempt, turn.now))
        else:
            until = append_time + min(delay, LONGEST_AWAY_MS)
            self._book.put_run_state(key, run.run_id, sent_away(run, outcome.worker, until))

    def _ended(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, append_time: int
    ) -> None:
        """Cancelled or expired: by the worker that has it, for the attempt that counts."""
        if not self._is_current(outcome, state):
            return
        kind = "cancelled" if state.phase == "cancelling" else outcome.kind
        reason = "a worker stopped it" if kind == "cancelled" else "queue_timeout: not started"
        self._over(turn, key, outcome, append_time)
        self._note(turn, key, outcome, reason, "cancelled" if kind == "cancelled" else "expired")

    def _stopped(
        self, turn: Turn, key: bytes, outcome: Outcome, state: RunState, reason: str
    ) -> None:
        """It was being cancelled, and its worker says something else of its end."""
        self._endings.end(turn, key, outcome.run_id, state, "cancelled", reason)
        self._occurrences.released(turn, key)

    def _over(self, turn: Turn, key: bytes, outcome: Outcome, append_time: int) -> None:
        self._book.put_run_state(key, outcome.run_id, None)
        self._book.put_ended(outcome.run_id, append_time)
        self._occurrences.released(turn, key)

    def _is_current(self, outcome: Outcome, state: RunState) -> bool:
        """The attempt that counts, from the worker that holds the lease if one does."""
        if outcome.attempt != state.attempt:
            return False
        if state.phase in ("running", "cancelling") and state.worker is not None:
            return outcome.worker == state.worker
        return state.phase in ("pending", "cancelling")

    def _is_of(self, run: Run | None, state: RunState) -> bool:
        """Whether the attempt as it was emitted last is meant. One that was handed back is emitted
        again; what was said of it before may be read again, and must not be acted upon twice."""
        if run is None:
            return False
        if state.phase == "pending":
            return pending(run, self._config.claim_after_ms).deadline == state.deadline
        return state.run is None or state.run.emitted_time == run.emitted_time

    def _put_running(self, key: bytes, outcome: Outcome, append_time: int) -> None:
        run = outcome.run
        assert run is not None
        lease = outcome.lease_ms or self._config.lease_ms
        state = RunState(
            phase="running",
            attempt=outcome.attempt,
            cause=run.cause,
            scheduled_time=run.scheduled_time,
            deadline=append_time + lease,
            worker=outcome.worker,
            lease_ms=lease,
            started_time=outcome.started_time or outcome.time,
            run=msgspec.structs.replace(run, tracked=True),
        )
        self._book.put_run_state(key, outcome.run_id, state)

    def _put_deferred(self, key: bytes, outcome: Outcome, append_time: int) -> None:
        run = outcome.run
        if run is None:
            return
        started = outcome.started_time or append_time
        state = RunState(
            phase="deferred",
            attempt=outcome.attempt,
            cause=run.cause,
            scheduled_time=run.scheduled_time,
            deadline=started + run.timeout_ms,
            worker=outcome.worker,
            started_time=started,
            run=msgspec.structs.replace(run, tracked=True),
        )
        self._book.put_run_state(key, outcome.run_id, state)

    def _note(
        self,
        turn: Turn,
        key: bytes,
        outcome: Outcome,
        reason: str,
        kind: EventType = "rejected",
    ) -> None:
        self._emission.about(turn, key, kind, reason, name=outcome.run_id, attempt=outcome.attempt)
