"""Runs that end by the scheduler's decision, without a worker's last word.

That is said in an event, for people, and in an outcome in the place of a worker's, which no worker
signs: who owns the partition next learns from the outcomes alone which runs have ended lately, and
what is said of one of these then, late or again, must not bring it back.
"""

from typing import Literal

from tocsin.model.keys import parse_job_key
from tocsin.model.runs import UNSIGNED, Outcome
from tocsin.model.state import RunState
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.turn import Turn

EndKind = Literal["cancelled", "expired"]


class Endings:
    """The end of a run whose state is held."""

    def __init__(self, book: Book, emission: Emission) -> None:
        self._book = book
        self._emission = emission

    def end(
        self, turn: Turn, key: bytes, run_id: str, state: RunState, kind: EndKind, reason: str
    ) -> None:
        """It is over without a result."""
        self.close(turn, key, run_id, state, kind)
        self._emission.about(
            turn,
            key,
            kind,
            reason,
            name=run_id,
            scheduled_time=state.scheduled_time,
            attempt=state.attempt,
        )

    def close(self, turn: Turn, key: bytes, run_id: str, state: RunState, kind: EndKind) -> None:
        """As `end`, where the caller says why. Of a run that was never emitted nobody will hear."""
        self._book.put_run_state(key, run_id, None)
        if state.phase == "waiting":
            return
        self._book.put_ended(run_id, turn.now)
        tenant, job_id = parse_job_key(key.decode())
        outcome = Outcome(
            run_id=run_id,
            tenant=tenant,
            job_id=job_id,
            attempt=state.attempt,
            kind=kind,
            worker=UNSIGNED,
            time=turn.now,
            started_time=state.started_time,
        )
        self._emission.outcome(turn, outcome)
