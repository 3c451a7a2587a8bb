"""Imperative commands: trigger, backfill, cancel, complete, redrive.

A signal whose id is name-based (UUID version 5) counts once: what has the same id within 24 hours
by log timestamps is the same command, sent again. Ids at random are not remembered.
"""

from collections.abc import Callable
from uuid import UUID

import msgspec

from tocsin.model.fold import Held
from tocsin.model.jobs import Job
from tocsin.model.keys import run_id
from tocsin.model.runs import Error, Outcome, Run
from tocsin.model.signals import Signal, SignalKind
from tocsin.model.state import Applied, Range, RunState
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.due import Course, course_of
from tocsin_scheduler.core.emission import Emission, whole_run
from tocsin_scheduler.core.failures import Failures
from tocsin_scheduler.core.occurrences import COUNTED, Occurrences, no_pool
from tocsin_scheduler.core.stopping import Stopping
from tocsin_scheduler.core.turn import Turn

ANY_ATTEMPT = 2**31 - 1
MOST_SLOTS = 10_000
REMEMBERED_MS = 86_400_000
MOST_REMEMBERED = 1_000


class Signals:
    """Applies one signal; what cannot be done is a `rejected` event that says why."""

    def __init__(
        self,
        book: Book,
        emission: Emission,
        occurrences: Occurrences,
        failures: Failures,
        stopping: Stopping,
    ) -> None:
        self._book = book
        self._emission = emission
        self._occurrences = occurrences
        self._failures = failures
        self._stopping = stopping
        self._apply: dict[SignalKind, Callable[[Turn, bytes, Signal, int], str | None]] = {
            "trigger": self._trigger,
            "backfill": self._backfill,
            "cancel": self._cancel,
            "complete": self._complete,
            "redrive": self._redrive,
        }

    def is_early(self, turn: Turn, key: bytes, signal: Signal, append_time: int) -> bool:
        """Whether what the signal is about may stand in outcomes that have not been read yet: a
        run is completed as soon as it is deferred, and topics have no mutual order."""
        if signal.signal != "complete" or turn.outcomes_read >= append_time:
            return False
        state = self._book.run_state(key, signal.run_id or "")
        if state is not None and state.phase not in ("pending", "running"):
            return False
        turn.needs_outcomes = True
        return True

    def apply(self, turn: Turn, key: bytes, signal: Signal, append_time: int) -> None:
        if UUID(signal.signal_id).version == 5 and not self._is_first(key, signal, append_time):
            return
        refusal = self._apply[signal.signal](turn, key, signal, append_time)
        if refusal is not None:
            self.reject(turn, key, signal, refusal)

    def reject(self, turn: Turn, key: bytes, signal: Signal, reason: str) -> None:
        self._emission.about(
            turn, key, "rejected", f"{signal.signal}: {reason}", name=signal.run_id
        )
        if signal.signal == "backfill":
            told = f"{signal.signal_id}: rejected, {reason}"
            self._emission.about(turn, key, "backfill_finished", told)

    def refuse(self, turn: Turn, key: bytes, reason: str) -> None:
        """What came as a signal is none."""
        self._emission.about(turn, key, "rejected", f"signal: {reason}")

    def _is_first(self, key: bytes, signal: Signal, append_time: int) -> bool:
        """Whether the signal is none that was applied before; it is remembered then."""
        state = self._book.job_state(key)
        known = [entry for entry in state.applied if entry.until > append_time]
        if any(entry.signal_id == signal.signal_id for entry in known):
            return False
        entry = Applied(signal_id=signal.signal_id, until=append_time + REMEMBERED_MS)
        applied = [*known, entry][-MOST_REMEMBERED:]
        self._book.put_job_state(key, msgspec.structs.replace(state, applied=applied))
        self._book.timers.put(entry.until, key)
        return True

    def _definition(self, key: bytes) -> tuple[Held, Job] | None:
        held = self._book.held(key)
        return None if held is None or held.job is None else (held, held.job)

    def _trigger(self, turn: Turn, key: bytes, signal: Signal, append_time: int) -> str | None:
        found = self._definition(key)
        if found is None:
            return "there is no such job"
        held, job = found
        name = run_id(job.tenant, job.job_id, append_time, f"-m{signal.signal_id[:8]}")
        if self._book.emitted.has(name):
            return None
        run = whole_run(
            job,
            held,
            name=name,
            nominal=append_time,
            due=append_time,
            now=turn.now,
            cause="manual",
            tracked=job.overlap != "allow_all",
            payload=signal.payload,
        )
        overlap = signal.overlap or job.overlap
        presence = self._book.presence(key)
        if not self._emission.has_pool(job.pool):
            self._emission.skipped(turn, key, append_time, no_pool(job.pool), run.run_id, "manual")
        elif overlap == "allow_all" and not run.tracked:
            self._emission.run(turn, run)
        elif overlap == "allow_all" or not self._occurrences.is_busy(key, presence):
            self._occurrences.emit_run(turn, key, run)
        else:
            self._occurrences.meet(turn, key, run, overlap, presence)
        return None

    def _backfill(self, turn: Turn, key: bytes, signal: Signal, _append_time: int) -> str | None:
        found = self._definition(key)
        if found is None:
            return "there is no such job"
        job = found[1]
        if job.schedule.at is not None:
            return "a one-off has no slots to fill"
        if signal.from_time is None or signal.to_time is None:
            return "from and to are needed"
        slots = _slots(course_of(job), signal.from_time, signal.to_time)
        if not slots:
            return "the schedule has no slot in [from, to)"
        if len(slots) > MOST_SLOTS:
            return f"more than {MOST_SLOTS} slots in [from, to); fill them in several steps"
        self._open(turn, key, job, signal, slots)
        return None

    def _open(self, turn: Turn, key: bytes, job: Job, signal: Signal, slots: list[int]) -> None:
        backfill = Range(
            range_id=signal.signal_id,
            cause="backfill",
            schedule=job.schedule,
            jitter_ms=job.jitter_ms,
            policy=signal.overlap or job.overlap,
            first=slots[0],
            last=slots[-1],
            next=slots[0],
        )
        state = self._book.job_state(key)
        if any(left.range_id == backfill.range_id for left in state.ranges):
            return
        ranges = [*state.ranges, backfill]
        self._book.put_job_state(key, msgspec.structs.replace(state, ranges=ranges))
        self._book.put_ready(key)
        self._emission.about(turn, key, "backfill_started", signal.signal_id)

    def _cancel(self, turn: Turn, key: bytes, signal: Signal, _append_time: int) -> str | None:
        if signal.backfill_id is not None:
            return self._cancel_backfill(turn, key, signal.backfill_id)
        if signal.run_id is None:
            return "run_id or backfill_id is needed"
        state = self._book.run_state(key, signal.run_id)
        if state is None:
            if self._book.ended(signal.run_id, turn.now):
                return "the run has ended"
            self._emission.cancel(turn, signal.run_id, ANY_ATTEMPT)
        elif state.phase == "dead":
            return "the run has ended: it is dead"
        elif state.phase != "cancelling":
            self._stopping.cancel(turn, key, signal.run_id, state, "cancelled by command")
            self._occurrences.released(turn, key)
        return None

    def _cancel_backfill(self, turn: Turn, key: bytes, backfill_id: str) -> str | None:
        state = self._book.job_state(key)
        kept = [entry for entry in state.ranges if entry.range_id != backfill_id]
        if len(kept) == len(state.ranges):
            return f"there is no backfill {backfill_id}"
        self._book.put_job_state(key, msgspec.structs.replace(state, ranges=kept))
        self._emission.about(turn, key, "backfill_finished", f"{backfill_id}: cancelled")
        self._occurrences.released(turn, key)
        return None

    def _complete(self, turn: Turn, key: bytes, signal: Signal, append_time: int) -> str | None:
        if signal.run_id is None or signal.succeeded is None:
            return "run_id and succeeded are needed"
        state = self._book.run_state(key, signal.run_id)
        if state is None or state.phase != "deferred" or state.run is None:
            return "the run is not deferred"
        if signal.attempt is not None and signal.attempt != state.attempt:
            return f"attempt {signal.attempt} is not the present one; {state.attempt} is deferred"
        outcome = _completion(state, state.run, signal, append_time)
        self._emission.outcome(turn, outcome)
        if signal.succeeded:
            self._book.put_run_state(key, signal.run_id, None)
            self._book.put_ended(signal.run_id, append_time)
            if state.cause in COUNTED:
                self._failures.succeeded(key)
            self._occurrences.released(turn, key)
        else:
            self._failures.failed(turn, state.run, outcome, append_time)
        return None

    def _redrive(self, turn: Turn, key: bytes, signal: Signal, _append_time: int) -> str | None:
        if signal.dead is None:
            return "the dead record is needed"
        run = signal.dead.run
        state = self._book.run_state(key, run.run_id)
        if str(run.key).encode() != key:
            return f"the dead run is of {run.key}"
        if state is not None and state.phase != "dead":
            return f"the run is {state.phase}"
        found = self._definition(key)
        if found is not None:
            fresh = found[1].retry.max_attempts
            run = _renewed(run, *found, turn.now)
        else:
            fresh = run.max_attempts
        attempts = signal.dead.attempts
        if self._book.emitted.has(run.run_id, attempts + 1):
            return None
        redriven = msgspec.structs.replace(
            run, attempt=attempts + 1, max_attempts=attempts + fresh, cause="redrive"
        )
        self._occurrences.emit_run(turn, key, redriven)
        return None


def _slots(course: Course, start: int, end: int) -> list[int]:
    """Nominal times in [start, end), one more than allowed at the most."""
    slots: list[int] = []
    due = course.after(start - 1)
    while due is not None and due.nominal < end and len(slots) <= MOST_SLOTS:
        slots.append(due.nominal)
        due = course.after(due.nominal)
    return slots


def _completion(state: RunState, run: Run, signal: Signal, append_time: int) -> Outcome:
    """What the worker that deferred the run would have said; history reads it from the log."""
    failed = not signal.succeeded
    error = signal.error or Error(code="exception", message="completed as failed")
    return Outcome(
        run_id=run.run_id,
        tenant=run.tenant,
        job_id=run.job_id,
        attempt=run.attempt,
        kind="failed" if failed else "succeeded",
        worker=state.worker or "",
        time=append_time,
        started_time=state.started_time,
        run=run if failed else None,
        result=signal.result,
        error=error if failed else None,
    )


def _renewed(run: Run, held: Held, job: Job, now: int) -> Run:
    """The run under the present definition."""
    return whole_run(
        job,
        held,
        name=run.run_id,
        nominal=run.scheduled_time,
        due=run.due_time,
        now=now,
        cause="redrive",
        tracked=True,
    )
