"""What becomes of an occurrence whose instant has come: the six overlap policies.

A run is *unfinished* from its emission until it has succeeded, is dead, cancelled or expired. An
occurrence that meets one waits until outcomes have been read to an end asked for after its due
instant, since the run may have ended already; at most `settle_ms`.
"""

import msgspec

from tocsin.model.events import EventType
from tocsin.model.jobs import Overlap
from tocsin.model.keys import parse_job_key, run_id
from tocsin.model.runs import Cause, Run
from tocsin.model.state import RunState
from tocsin_scheduler.core.book import Book, Presence
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.emission import Emission, again, whole_run
from tocsin_scheduler.core.endings import Endings
from tocsin_scheduler.core.firing import Firing
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.core.stopping import Stopping
from tocsin_scheduler.core.turn import Turn

BUFFERED = 1 << 62
"""Deadline of an occurrence that waits for a run to end, not for an instant."""

USED_UP = "max_runs: all runs are used"

COUNTED: frozenset[Cause] = frozenset({"schedule", "catch_up"})
"""Causes that count for `max_runs` and `pause_on_failures`."""


class Occurrences:
    """Emits, buffers, skips; keeps the state of what it emits where a policy needs it."""

    def __init__(
        self,
        book: Book,
        emission: Emission,
        stopping: Stopping,
        endings: Endings,
        config: CoreConfig,
    ) -> None:
        self._book = book
        self._emission = emission
        self._stopping = stopping
        self._endings = endings
        self._config = config

    def arrive(
        self, turn: Turn, key: bytes, firing: Firing, nominal: int, due: int, cause: Cause
    ) -> None:
        """A scheduled occurrence of the definition behind `firing` is due, or late."""
        if self.was_emitted(key, nominal):
            return
        if not self._emission.has_pool(firing.pool):
            self._emission.skipped(turn, key, nominal, no_pool(firing.pool))
            return
        if self.is_used_up(key, firing.max_runs):
            self._emission.skipped(turn, key, nominal, USED_UP)
            return
        if firing.overlap == "allow_all":
            self._emission.occurrence(turn, key, firing, nominal, due, cause, tracked=False)
            self.count_run(turn, key, firing.max_runs, nominal)
            return
        presence = self._book.presence(key)
        if self.is_busy(key, presence):
            run = self._whole(turn, key, nominal, due, cause)
            self.meet(turn, key, run, firing.overlap, presence)
        else:
            self.emit_tracked(turn, key, firing, nominal, due, cause)

    def emit_tracked(
        self,
        turn: Turn,
        key: bytes,
        firing: Firing,
        nominal: int,
        due: int,
        cause: Cause,
        suffix: str = "",
    ) -> None:
        """Emit an occurrence whose run the state holds from now on."""
        name, expires = self._emission.occurrence(
            turn, key, firing, nominal, due, cause, True, suffix
        )
        state = RunState(
            phase="pending",
            attempt=1,
            cause=cause,
            scheduled_time=nominal,
            deadline=expires + 2 * self._config.claim_after_ms,
        )
        self._book.put_run_state(key, name, state)
        if cause in COUNTED:
            self.count_run(turn, key, firing.max_runs, nominal)

    def was_emitted(self, key: bytes, nominal: int, suffix: str = "") -> bool:
        """Whether an earlier owner has dealt with the occurrence, as was read back from the log."""
        emitted = self._book.emitted
        if emitted.is_empty:
            return False
        return emitted.knows(key, run_id(*parse_job_key(key.decode()), nominal, suffix))

    def pass_over(self, turn: Turn, key: bytes, kind: EventType, nominal: int, reason: str) -> None:
        """Record that an occurrence does not run, unless an earlier owner has dealt with it."""
        if not self.was_emitted(key, nominal):
            self._emission.passed_over(turn, key, kind, reason, 1, nominal, nominal)

    def emit_run(self, turn: Turn, key: bytes, run: Run) -> None:
        """Emit a whole run, tracked, and hold it as pending; or record why it cannot be, and then
        what waited for it may go on."""
        if not self._emit_or_drop(turn, key, run):
            self.released(turn, key)

    def _emit_or_drop(self, turn: Turn, key: bytes, run: Run) -> bool:
        if not self._emission.has_pool(run.pool):
            self._drop(turn, key, run, no_pool(run.pool))
            return False
        run = msgspec.structs.replace(run, tracked=True)
        self._emission.run(turn, run)
        self._book.put_run_state(key, run.run_id, pending(run, self._config.claim_after_ms))
        return True

    def _drop(self, turn: Turn, key: bytes, run: Run, reason: str) -> None:
        """A run that was held, and does not come to be."""
        state = self._book.run_state(key, run.run_id)
        if state is not None:
            self._endings.close(turn, key, run.run_id, state, "cancelled")
        self._skip(turn, key, run, reason)

    def meet(self, turn: Turn, key: bytes, run: Run, overlap: Overlap, presence: Presence) -> None:
        """`run` comes while others are unfinished, as far as is known."""
        if presence.unfinished >= self._config.max_unfinished:
            self._skip(turn, key, run, f"{presence.unfinished} runs are unfinished, the limit")
        elif overlap == "allow_all":
            self.emit_run(turn, key, run)
        elif self._is_settled(turn, run):
            self._decide(turn, key, run, overlap, presence.waiting)
        else:
            turn.needs_outcomes = True
            self.hold(key, run, run.due_time, overlap)

    def hold(self, key: bytes, run: Run, until: int, overlap: Overlap | None = None) -> None:
        """Keep an occurrence whole in `state`, to be looked at again at that instant."""
        self._book.put_run_state(key, run.run_id, waiting(run, until, overlap))

    def look_again(self, turn: Turn, key: bytes, run: Run, asked: Overlap | None) -> bool:
        """A waiting occurrence's instant has come; False while it has to wait on.

        asked: the policy it was asked for with; None = the definition's.
        """
        presence = self._book.presence(key)
        presence = presence._replace(waiting=presence.waiting - 1)
        firing = self._book.firing(key)
        overlap = asked or ("allow_all" if firing is None else firing.overlap)
        if overlap == "allow_all" or not self.is_busy(key, presence):
            self._start_waiting(turn, key, run)
            return True
        if not self._is_settled(turn, run):
            turn.needs_outcomes = True
            return False
        self._book.put_run_state(key, run.run_id, None)
        self._decide(turn, key, run, overlap, presence.waiting)
        return True

    def released(self, turn: Turn, key: bytes) -> None:
        """A run of the job has ended: what waited for it may go on, a backlog first."""
        presence = self._book.presence(key)
        if presence.unfinished:
            return
        if presence.has_state and self._book.job_state(key).ranges:
            self._book.put_ready(key)
        elif presence.waiting:
            self._start_buffered(turn, key)

    def _start_buffered(self, turn: Turn, key: bytes) -> None:
        """The oldest that comes to be a run; those before it are recorded."""
        buffered = [
            state.run
            for _, state in self._book.run_states(key)
            if state.phase == "waiting" and state.deadline == BUFFERED and state.run
        ]
        for run in sorted(buffered, key=lambda run: run.scheduled_time):
            if self._start_waiting(turn, key, run):
                return

    def is_busy(self, key: bytes, presence: Presence) -> bool:
        """Whether an occurrence would overlap: with a run, or with a backlog that is to come."""
        if presence.unfinished:
            return True
        return presence.has_state and any(
            backlog.policy != "allow_all" for backlog in self._book.job_state(key).ranges
        )

    def count_run(self, turn: Turn, key: bytes, max_runs: int | None, nominal: int) -> None:
        """Count a run for `max_runs`; the last one settles the job: its course ends here."""
        if max_runs is None:
            return
        state = self._book.job_state(key)
        used, settled = state.used_runs + 1, state.settled
        if used >= max_runs:
            settled = max(settled or 0, nominal, instant_of(turn.place))
        state = msgspec.structs.replace(state, used_runs=used, settled=settled)
        self._book.put_job_state(key, state)

    def is_used_up(self, key: bytes, max_runs: int | None) -> bool:
        return max_runs is not None and self._book.job_state(key).used_runs >= max_runs

    def _is_settled(self, turn: Turn, run: Run) -> bool:
        return (
            turn.outcomes_read >= run.due_time
            or turn.now >= max(run.due_time, run.emitted_time) + self._config.settle_ms
        )

    def _start_waiting(self, turn: Turn, key: bytes, run: Run) -> bool:
        """Whether it has become a run; if not, it is recorded why."""
        firing = self._book.firing(key)
        if run.cause in COUNTED and firing is not None:
            if self.is_used_up(key, firing.max_runs):
                self._drop(turn, key, run, USED_UP)
                return False
            self.count_run(turn, key, firing.max_runs, run.scheduled_time)
        return self._emit_or_drop(turn, key, again(run, run.attempt, turn.now))

    def _decide(
        self, turn: Turn, key: bytes, run: Run, overlap: Overlap, already_waiting: int
    ) -> None:
        if overlap == "skip":
            self._skip(turn, key, run, "overlap: a run of the job is unfinished")
        elif overlap == "buffer_one" and already_waiting:
            self._skip(turn, key, run, "overlap: another occurrence waits already")
        elif overlap == "buffer_all" and already_waiting >= self._config.max_buffered:
            self._skip(turn, key, run, f"overlap: {already_waiting} occurrences wait, the limit")
        elif overlap in ("buffer_one", "buffer_all"):
            self.hold(key, run, BUFFERED)
        elif overlap == "cancel_other":
            self._replace(turn, key, run)
        else:
            self._stopping.stop_all(turn, key, "overlap: a newer occurrence starts")
            self._start_waiting(turn, key, run)

    def _replace(self, turn: Turn, key: bytes, run: Run) -> None:
        """The newer takes the waiting one's place; it starts when the unfinished have ended."""
        for name, state in self._book.run_states(key):
            if state.phase == "waiting":
                self._book.put_run_state(key, name, None)
                reason = "overlap: a newer occurrence waits instead"
                self._emission.skipped(turn, key, state.scheduled_time, reason, name, state.cause)
        self._stopping.stop_all(turn, key, "overlap: a newer occurrence waits")
        if self._book.presence(key).unfinished:
            self.hold(key, run, BUFFERED)
        else:
            self._start_waiting(turn, key, run)

    def _skip(self, turn: Turn, key: bytes, run: Run, reason: str) -> None:
        self._emission.skipped(turn, key, run.scheduled_time, reason, run.run_id, run.cause)

    def _whole(self, turn: Turn, key: bytes, nominal: int, due: int, cause: Cause) -> Run:
        held = self._book.held(key)
        assert held is not None
        assert held.job is not None
        tenant, job_id = parse_job_key(key.decode())
        return whole_run(
            held.job,
            held,
            name=run_id(tenant, job_id, nominal),
            nominal=nominal,
            due=due,
            now=turn.now,
            cause=cause,
            tracked=True,
        )


def pending(run: Run, claim_after_ms: int) -> RunState:
    """The state of a run that was just emitted."""
    return RunState(
        phase="pending",
        attempt=run.attempt,
        cause=run.cause,
        scheduled_time=run.scheduled_time,
        deadline=run.expires_time + 2 * claim_after_ms,
    )


def sent_away(run: Run, worker: str, until: int) -> RunState:
    """The state of a run whose attempt has not begun, and is to be emitted again at `until`. That
    it names a worker tells it from one whose attempt has failed."""
    return RunState(
        phase="retrying",
        attempt=run.attempt,
        cause=run.cause,
        scheduled_time=run.scheduled_time,
        deadline=until,
        worker=worker,
        run=msgspec.structs.replace(run, tracked=True),
    )


def waiting(run: Run, until: int, overlap: Overlap | None = None) -> RunState:
    """The state of an occurrence that may become a run at `until`, or when another ends."""
    return RunState(
        phase="waiting",
        attempt=run.attempt,
        cause=run.cause,
        scheduled_time=run.scheduled_time,
        deadline=until,
        overlap=overlap,
        run=run,
    )


def no_pool(pool: str) -> str:
    """Why a run for a pool without topics is skipped."""
    return f"pool {pool!r} has no run topics; make them with 'tocsin topics apply --pool {pool}'"
