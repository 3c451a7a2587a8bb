"""A failed attempt: tried again after a backoff, or dead."""

import msgspec

from tocsin.model.backoff import retry_delay_ms
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin.model.runs import Dead, Error, Outcome, Run
from tocsin.model.state import RunState
from tocsin.wire.codec import JOB
from tocsin.wire.headers import condition_header
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.emission import Emission, again
from tocsin_scheduler.core.occurrences import COUNTED, Occurrences
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.turn import Turn


class Failures:
    """One chain of attempts a run; a lease that ran out is a failure like any other."""

    def __init__(
        self, book: Book, emission: Emission, occurrences: Occurrences, config: CoreConfig
    ) -> None:
        self._book = book
        self._emission = emission
        self._occurrences = occurrences
        self._config = config

    def failed(self, turn: Turn, run: Run, outcome: Outcome, at: int) -> None:
        """Attempt `run.attempt` failed with `outcome.error`, known since `at`."""
        error = outcome.error or Error(code="exception", message="no reason was given")
        key = str(run.key).encode()
        held = self._book.held(key)
        job = None if held is None else held.job
        if error.permanent or run.attempt >= run.max_attempts or job is None:
            self._dead(turn, key, run, outcome, error, job)
            return
        delay = retry_delay_ms(job.retry, run.attempt, run.run_id, error.retry_after_ms)
        self._retry_at(turn, key, run, error, at + delay)

    def lost(self, turn: Turn, run: Run, outcome: Outcome) -> None:
        """The lease of the attempt ran out: pending again elsewhere at once, or dead."""
        error = outcome.error
        assert error is not None
        key = str(run.key).encode()
        self._emission.cancel(turn, run.run_id, run.attempt)
        self._emission.about(
            turn,
            key,
            "lease_expired",
            error.message,
            name=run.run_id,
            scheduled_time=run.scheduled_time,
            attempt=run.attempt,
        )
        held = self._book.held(key)
        job = None if held is None else held.job
        if run.attempt >= run.max_attempts or job is None:
            self._dead(turn, key, run, outcome, error, job)
        else:
            self._occurrences.emit_run(turn, key, again(run, run.attempt + 1, turn.now))

    def _retry_at(self, turn: Turn, key: bytes, run: Run, error: Error, instant: int) -> None:
        state = RunState(
            phase="retrying",
            attempt=run.attempt,
            cause=run.cause,
            scheduled_time=run.scheduled_time,
            deadline=instant,
            run=run,
        )
        self._book.put_run_state(key, run.run_id, state)
        self._emission.about(
            turn,
            key,
            "retry_scheduled",
            f"{error.code}: attempt {run.attempt} of {run.max_attempts} failed",
            name=run.run_id,
            scheduled_time=run.scheduled_time,
            attempt=run.attempt,
            retry_time=instant,
        )

    def _dead(
        self, turn: Turn, key: bytes, run: Run, outcome: Outcome, error: Error, job: Job | None
    ) -> None:
        why = "permanent" if error.permanent else f"attempt {run.attempt} of {run.max_attempts}"
        if job is None:
            why = "its job was deleted"
        self._emission.dead(turn, Dead(run=run, outcome=_slim(outcome), attempts=run.attempt))
        self._emission.about(
            turn,
            key,
            "dead",
            f"{error.code}: {why}",
            name=run.run_id,
            scheduled_time=run.scheduled_time,
            attempt=run.attempt,
        )
        marker = RunState(
            phase="dead",
            attempt=run.attempt,
            cause=run.cause,
            scheduled_time=run.scheduled_time,
            deadline=turn.now + self._config.dead_ms,
        )
        self._book.put_run_state(key, run.run_id, marker)
        if run.cause in COUNTED and job is not None and job.pause_on_failures is not None:
            self._count_failure(turn, key, job, job.pause_on_failures)
        self._occurrences.released(turn, key)

    def succeeded(self, key: bytes) -> None:
        """A scheduled run succeeded: failures in a row begin anew."""
        state = self._book.job_state(key)
        if state.failures:
            self._book.put_job_state(key, msgspec.structs.replace(state, failures=0))

    def _count_failure(self, turn: Turn, key: bytes, job: Job, limit: int) -> None:
        state = self._book.job_state(key)
        failures = state.failures + 1
        if failures >= limit and job.status == "active":
            self._pause(turn, key, job, f"paused after {failures} scheduled runs dead in a row")
            failures = 0
        self._book.put_job_state(key, msgspec.structs.replace(state, failures=failures))

    def _pause(self, turn: Turn, key: bytes, job: Job, note: str) -> None:
        """As a command of the scheduler's own, on the condition that nobody was faster."""
        held = self._book.held(key)
        assert held is not None
        paused = msgspec.structs.replace(job, status="paused", status_note=note)
        turn.out.append(
            Outgoing(
                self._config.topics.jobs,
                key,
                JOB.encode(paused),
                self._config.partition,
                [condition_header(held.revision)],
            )
        )
        self._emission.about(turn, key, "paused", note, revision=held.revision)


def _slim(outcome: Outcome) -> Outcome:
    """Without the run, which stands beside it."""
    return msgspec.structs.replace(outcome, run=None)


def lease_lost(state: RunState, key: JobKey, run_id: str, now: int, message: str) -> Outcome:
    """What the scheduler says in place of a worker that was not heard of again."""
    return Outcome(
        run_id=run_id,
        tenant=key.tenant,
        job_id=key.job_id,
        attempt=state.attempt,
        kind="failed",
        worker=state.worker or "",
        time=now,
        started_time=state.started_time,
        error=Error(code="lease_expired", message=message),
    )
