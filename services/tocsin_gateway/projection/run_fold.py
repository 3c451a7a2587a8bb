"""The fold of runs, outcomes, events and dead letters into rows (pure)."""

from collections.abc import Mapping
from typing import TypeAlias

from tocsin.broker.port import Record
from tocsin.model.events import Event
from tocsin.model.keys import InvalidKey, JobKey, run_id
from tocsin.model.runs import Dead, Outcome, Run
from tocsin_gateway.projection import attempts as attempt_fold
from tocsin_gateway.projection import history
from tocsin_gateway.projection.attempts import Attempt
from tocsin_gateway.projection.facts import ForeignRecord
from tocsin_gateway.projection.history import RunRow

HistoryFact: TypeAlias = Run | Outcome | Event | Dead


def run_of(fact: HistoryFact) -> str | None:
    """The run that a fact is about; None for an event about no run, or about several."""
    match fact:
        case Dead():
            return fact.run.run_id
        case Event():
            return _occurrence(fact)
        case Run() | Outcome():
            return fact.run_id


class RunFold:
    """Rows that have been read, and what facts make of them.

    What was not read before the first fact about it counts as not there. read: runs as they were.
    """

    def __init__(self) -> None:
        self.read: Mapping[str, RunRow] = {}
        self.runs: dict[str, RunRow] = {}
        self.attempts: dict[tuple[str, int], Attempt] = {}
        self.events: list[tuple[Record, Event, str | None]] = []
        self.completions: dict[JobKey, int] = {}
        self.dead_letters: dict[str, tuple[int, bytes | None]] = {}

    def fold(self, record: Record, fact: HistoryFact) -> None:
        """Learn one fact. Raises `ForeignRecord` where its run id is none."""
        try:
            match fact:
                case Run():
                    self._emitted(fact)
                case Outcome():
                    self._heard(fact)
                case Event():
                    self._decided(record, fact)
                case Dead():
                    self._died(record, fact)
        except InvalidKey as error:
            raise ForeignRecord(str(error)) from None

    def _emitted(self, run: Run) -> None:
        attempt = self._attempt(run.run_id, run.attempt)
        self.runs[run.run_id] = history.described(self._run(run.run_id), run)
        self._show(attempt_fold.emitted(attempt, run))

    def _heard(self, outcome: Outcome) -> None:
        if outcome.run is not None:
            self._emitted(outcome.run)
        attempt = self._attempt(outcome.run_id, outcome.attempt)
        self._show(attempt_fold.heard(attempt, outcome))

    def _decided(self, record: Record, event: Event) -> None:
        about, several = run_of(event), history.range_id(event, record.offset)
        self.events.append((record, event, several or about))
        if event.type == "completed" and event.revision is not None:
            self.completions[event.key] = event.revision
        if several is not None:
            self.runs[several] = history.passed_over(several, event)
        if about is None:
            return
        if event.attempt is not None:
            self._show(attempt_fold.decided(self._attempt(about, event.attempt), event))
        elif event.type in history.NOT_RUN:
            self.runs[about] = history.not_run(self._run(about), event)

    def _died(self, record: Record, dead: Dead) -> None:
        self._emitted(dead.run)
        self.dead_letters[dead.run.run_id] = (dead.attempts, record.value)

    def _run(self, run_id: str) -> RunRow:
        row = self.runs.get(run_id)
        return history.new_row(run_id) if row is None else row

    def _attempt(self, run_id: str, number: int) -> Attempt:
        known = self.attempts.get((run_id, number))
        return Attempt(run_id=run_id, attempt=number) if known is None else known

    def _show(self, attempt: Attempt) -> None:
        self.attempts[attempt.run_id, attempt.attempt] = attempt
        self.runs[attempt.run_id] = history.shown(self._run(attempt.run_id), attempt)


def _occurrence(event: Event) -> str | None:
    if event.count != 1:
        return None
    is_own = event.type in history.NOT_RUN and event.cause is None
    if event.run_id is not None or not is_own:
        return event.run_id
    at = event.first if event.scheduled_time is None else event.scheduled_time
    return None if at is None else run_id(event.tenant, event.job_id, at)
