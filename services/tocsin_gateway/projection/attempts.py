"""One attempt of a run, as three topics tell of it (pure).

The topics have no mutual order. Each column is written by one topic only, and each topic is
folded in its own order (the records of a job share a partition), so every interleaving gives
the same attempt; what the columns mean together is computed from them.

    runs      emitted_time
    outcomes  heard, worker, started_time, finished_time, result, error_*
    events    decision, decided_time, reason, retry_time
"""

from typing import Literal

import msgspec

from tocsin.model.events import Event, EventType
from tocsin.model.runs import Outcome, OutcomeKind, Run, RunStatus
from tocsin.model.values import Value

AttemptStatus = Literal[
    "pending", "running", "deferred", "failed", "succeeded", "cancelled", "expired"
]

_HEARD: dict[OutcomeKind, int] = {
    "started": 1,
    "deferred": 2,
    "failed": 3,
    "cancelled": 3,
    "expired": 3,
    "succeeded": 4,
}
_DECIDED: dict[EventType, int] = {
    "retry_scheduled": 1,
    "lease_expired": 2,
    "expired": 3,
    "cancelled": 3,
    "dead": 4,
}


class Attempt(Value, frozen=True):
    """A row of `attempts`."""

    run_id: str
    attempt: int
    emitted_time: int | None = None
    heard: OutcomeKind | None = None
    worker: str | None = None
    started_time: int | None = None
    finished_time: int | None = None
    result: bytes | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_permanent: bool | None = None
    decision: EventType | None = None
    decided_time: int | None = None
    reason: str | None = None
    retry_time: int | None = None

    @property
    def succeeded(self) -> bool:
        return self.heard == "succeeded"

    @property
    def status(self) -> AttemptStatus:
        """How the attempt stands: what the worker said of its end, else what was decided."""
        match self.heard:
            case "succeeded" | "failed" | "cancelled" | "expired":
                return self.heard
        match self.decision:
            case "cancelled" | "expired":
                return self.decision
            case "retry_scheduled" | "lease_expired" | "dead":
                return "failed"
        match self.heard:
            case "deferred":
                return "deferred"
            case "started":
                return "running"
        return "pending"

    @property
    def run_status(self) -> RunStatus:
        """How a run stands whose newest attempt this is. A success is final; a failure is
        `retrying` until it is decided what follows."""
        if self.succeeded:
            return "succeeded"
        match self.decision:
            case "dead" | "cancelled" | "expired":
                return self.decision
        status = self.status
        return "retrying" if status == "failed" else status

    @property
    def ended_time(self) -> int | None:
        """When it ended: by the worker's clock, else when that was decided."""
        return self.decided_time if self.finished_time is None else self.finished_time


def emitted(attempt: Attempt, run: Run) -> Attempt:
    """An attempt may be emitted again, when a worker has declined it; the first time counts."""
    if attempt.emitted_time is not None and attempt.emitted_time <= run.emitted_time:
        return attempt
    return msgspec.structs.replace(attempt, emitted_time=run.emitted_time)


def heard(attempt: Attempt, outcome: Outcome) -> Attempt:
    """An outcome in the order of the outcomes topic: the first claimant's counts, a success
    anyone's, and nothing after a success. What no worker has signed stands in an event, too."""
    rank = 0 if outcome.is_unsigned else _HEARD.get(outcome.kind, 0)
    if rank <= (_HEARD[attempt.heard] if attempt.heard else 0):
        return attempt
    is_claimant = attempt.worker in (None, outcome.worker)
    if not is_claimant and outcome.kind != "succeeded":
        return attempt
    started = outcome.time if outcome.kind == "started" else outcome.started_time
    if started is None and is_claimant:
        started = attempt.started_time
    error = outcome.error
    return msgspec.structs.replace(
        attempt,
        heard=outcome.kind,
        worker=outcome.worker,
        started_time=started,
        finished_time=outcome.time if rank >= _HEARD["failed"] else None,
        result=outcome.result,
        error_code=error.code if error else None,
        error_message=error.message if error else None,
        error_permanent=error.permanent if error else None,
    )


def decided(attempt: Attempt, event: Event) -> Attempt:
    """An event in the order of the events topic. `event.attempt` is the attempt that ended."""
    rank = _DECIDED.get(event.type, 0)
    if event.retry_time is not None:
        attempt = msgspec.structs.replace(attempt, retry_time=event.retry_time)
    if rank <= (_DECIDED[attempt.decision] if attempt.decision else 0):
        return attempt
    return msgspec.structs.replace(
        attempt, decision=event.type, decided_time=event.time, reason=event.reason
    )
