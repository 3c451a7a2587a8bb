"""What a worker says of its runs."""

from dataclasses import dataclass

from tocsin.model.runs import Error, Outcome, OutcomeKind, Run
from tocsin.wire.outcome_bytes import outcome_value
from tocsin_worker.limits import bounded_error, bounded_result
from tocsin_worker.timers import Timers
from tocsin_worker.writer import Heard, LogWriter

_WITH_RUN: frozenset[OutcomeKind] = frozenset({"started", "deferred", "failed", "declined"})


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Writes the outcomes of one worker to their topic, keyed by job."""

    worker: str
    topic: str
    writer: LogWriter
    timers: Timers

    def write(
        self,
        run: Run,
        kind: OutcomeKind,
        heard: Heard | None = None,
        *,
        started_time: int | None = None,
        lease_ms: int | None = None,
        result: bytes | None = None,
        error: Error | None = None,
    ) -> None:
        """`heard` is called once it is in the log. Result and error are cut to what history
        keeps. A heartbeat is written once: the next overtakes it."""
        outcome = Outcome(
            run_id=run.run_id,
            tenant=run.tenant,
            job_id=run.job_id,
            attempt=run.attempt,
            kind=kind,
            worker=self.worker,
            time=self.timers.now_ms(),
            started_time=started_time,
            lease_ms=lease_ms,
            run=run if kind in _WITH_RUN else None,
            result=bounded_result(result),
            error=None if error is None else bounded_error(error),
        )
        key = str(outcome.key).encode()
        value = outcome_value(outcome)
        self.writer.write(self.topic, key, value, heard, repeat=kind != "heartbeat")
