"""What may stand in a run, and in what a worker says of one."""

from collections.abc import Iterator
from typing import Final

from tocsin.model.errors import FieldError
from tocsin.model.keys import InvalidKey, parse_run_id
from tocsin.model.limits import INT_MAX, LONG_MAX, LONGEST_MS, MAX_ATTEMPTS, range_errors
from tocsin.model.runs import Dead, Outcome, Run

LATEST_MS: Final = 2**48
"""Beyond every instant of a run, in the year 10889: no sum of it and a duration leaves 64 bits."""
LAST_ATTEMPT: Final = INT_MAX - MAX_ATTEMPTS
"""A run that is redriven has as many attempts again."""


def outcome_problem(outcome: Outcome) -> str | None:
    """Why nothing can be made of an outcome, in a sentence; None where something can."""
    if not outcome.run_id.startswith(f"{outcome.tenant}.{outcome.job_id}."):
        return f"run_id {outcome.run_id[:80]!r} is not of {outcome.tenant}/{outcome.job_id}"
    if not 1 <= outcome.attempt <= LAST_ATTEMPT:
        return f"attempt is {outcome.attempt:,}; it must lie between 1 and {LAST_ATTEMPT:,}"
    return next((f"{e.pointer} {e.message}" for e in _further_errors(outcome)), None)


def _further_errors(outcome: Outcome) -> Iterator[FieldError]:
    if outcome.lease_ms is not None:
        yield from range_errors("/lease_ms", outcome.lease_ms, 0, LONGEST_MS)
    if outcome.started_time is not None:
        yield from range_errors("/started_time", outcome.started_time, 0, LATEST_MS)
    if outcome.error is not None:
        yield from range_errors("/error/retry_after_ms", outcome.error.retry_after_ms, 0, LONG_MAX)
    run = outcome.run
    if run is not None:
        yield from run_errors("/run", run)
        if (run.run_id, run.attempt) != (outcome.run_id, outcome.attempt):
            message = f"is another: {run.run_id}, attempt {run.attempt}"
            yield FieldError(pointer="/run", keyword="agree", message=message)


def run_errors(at: str, run: Run) -> Iterator[FieldError]:
    """All that is wrong with the names and numbers of a run."""
    yield from run_id_errors(f"{at}/run_id", run.run_id)
    if not run.run_id.startswith(f"{run.tenant}.{run.job_id}."):
        message = f"is not a run of {run.key}"
        yield FieldError(pointer=f"{at}/run_id", keyword="agree", message=message)
    for name in ("scheduled_time", "due_time", "emitted_time", "expires_time"):
        yield from range_errors(f"{at}/{name}", getattr(run, name), 0, LATEST_MS)
    yield from range_errors(f"{at}/attempt", run.attempt, 1, LAST_ATTEMPT)
    yield from range_errors(f"{at}/max_attempts", run.max_attempts, 1, INT_MAX)
    yield from range_errors(f"{at}/revision", run.revision, 0, LONG_MAX)
    yield from range_errors(f"{at}/timeout_ms", run.timeout_ms, 0, LONGEST_MS)


def dead_number_errors(dead: Dead) -> Iterator[FieldError]:
    """What is wrong with the names and numbers of a dead run that is to be redriven."""
    yield from run_errors("/dead/run", dead.run)
    yield from range_errors("/dead/attempts", dead.attempts, 1, LAST_ATTEMPT)


def run_id_errors(at: str, run_id: str | None) -> Iterator[FieldError]:
    """A run id that is not of its form, where there is one."""
    if run_id is None:
        return
    try:
        parse_run_id(run_id)
    except InvalidKey as error:
        yield FieldError(pointer=at, keyword="pattern", message=str(error))
