"""What happens by itself when its instant comes: retries, leases, queue time-outs, upkeep.

A timer only says when to look; what is looked at decides. Where the absence of an outcome is the
reason to act, outcomes have to be read first to an end asked for after the deadline.
"""

from collections.abc import Callable

import msgspec

from tocsin.model.runs import Error
from tocsin.model.state import Phase, RunState
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.emission import again, resumed
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.failures import Failures, lease_lost
from tocsin_scheduler.core.occurrences import Occurrences
from tocsin_scheduler.core.place import run_key
from tocsin_scheduler.core.turn import Turn
from tocsin_scheduler.core.upkeep import Upkeep

RECHECK_MS = 20
"""When to look again at what waits for outcomes to be read."""


class Timers:
    """Fires what is due. `leases_from`: no lease counts from before this instant, since a new
    owner has not seen the heartbeats."""

    def __init__(
        self,
        book: Book,
        occurrences: Occurrences,
        failures: Failures,
        endings: Endings,
        upkeep: Upkeep,
        config: CoreConfig,
    ) -> None:
        self._book = book
        self._occurrences = occurrences
        self._failures = failures
        self._endings = endings
        self._upkeep = upkeep
        self._config = config
        self.leases_from = 0
        self._fire: dict[Phase, Callable[[Turn, bytes, str, RunState], int | None]] = {
            "waiting": self._waiting,
            "pending": self._pending,
            "running": self._running,
            "cancelling": self._cancelling,
            "retrying": self._retrying,
            "deferred": self._deferred,
            "dead": self._forget,
        }

    def advance(self, turn: Turn) -> bool:
        """Fire what is due by now; whether the budget ended before."""
        for instant, ref in self._book.timers.until(turn.now):
            if turn.budget.spent:
                self._book.timers.put(instant, ref)
                return True
            turn.budget.steps -= 1
            again_at = self._look(turn, ref)
            self._book.timers.delete(instant, ref)
            if again_at is not None:
                self._book.timers.put(max(again_at, turn.now + RECHECK_MS), ref)
        return False

    def _look(self, turn: Turn, ref: bytes) -> int | None:
        """Act on a job or a run; when to look again, or None."""
        key, is_run, name = ref.partition(b"#")
        if not is_run:
            return self._upkeep.look(turn, key)
        run_id = name.decode()
        state = self._book.run_state(key, run_id)
        return None if state is None else self._fire[state.phase](turn, key, run_id, state)

    def _waiting(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        if state.deadline > turn.now or state.run is None:
            return None
        decided = self._occurrences.look_again(turn, key, state.run, state.overlap)
        return None if decided else state.deadline

    def _pending(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        """Nobody has said anything of it within its queue time-out: it is lost."""
        if not self._is_over(turn, state.deadline):
            return state.deadline
        reason = "queue_timeout: no worker has started it in time"
        self._endings.end(turn, key, run_id, state, "expired", reason)
        self._occurrences.released(turn, key)
        return None

    def _running(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        end = self._lease_end(key, run_id, state)
        if not self._is_over(turn, end):
            return end
        if state.run is not None:
            message = f"worker {state.worker} was not heard of for {state.lease_ms} ms"
            outcome = lease_lost(state, state.run.key, run_id, turn.now, message)
            run = msgspec.structs.replace(state.run, attempt=state.attempt)
            self._failures.lost(turn, run, outcome)
        return None

    def _cancelling(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        end = state.deadline if state.worker is None else self._lease_end(key, run_id, state)
        if not self._is_over(turn, end):
            return end
        reason = "stopped before it had started"
        self._endings.end(turn, key, run_id, state, "cancelled", reason)
        self._occurrences.released(turn, key)
        return None

    def _retrying(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        if state.deadline > turn.now:
            return state.deadline
        if state.run is not None and state.worker is not None:
            self._occurrences.emit_run(turn, key, resumed(state.run, turn.now))
        elif state.run is not None:
            self._occurrences.emit_run(turn, key, again(state.run, state.attempt + 1, turn.now))
        return None

    def _deferred(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        if not self._is_over(turn, state.deadline):
            return state.deadline
        if state.run is not None:
            outcome = lease_lost(state, state.run.key, run_id, turn.now, "")
            error = Error(code="timeout", message="it was deferred and not completed in time")
            outcome = msgspec.structs.replace(outcome, error=error)
            self._failures.failed(turn, state.run, outcome, turn.now)
        return None

    def _forget(self, turn: Turn, key: bytes, run_id: str, state: RunState) -> int | None:
        if state.deadline > turn.now:
            return state.deadline
        self._book.put_run_state(key, run_id, None)
        return None

    def _is_over(self, turn: Turn, deadline: int) -> bool:
        """The deadline has passed, and whatever was said before it has been read."""
        if deadline > turn.now:
            return False
        if turn.outcomes_read < deadline:
            turn.needs_outcomes = True
            return False
        return True

    def _lease_end(self, key: bytes, run_id: str, state: RunState) -> int:
        """A lease lasts from the last sign of life, but not beyond time-out + lease."""
        lease = state.lease_ms or self._config.lease_ms
        heard = self._book.heartbeat(run_key(key, run_id)) or 0
        end = max(state.deadline, heard + lease, self.leases_from + lease)
        if state.run is not None and state.started_time is not None:
            longest = state.started_time + state.run.timeout_ms + lease
            end = min(end, max(longest, state.deadline))
        return end
