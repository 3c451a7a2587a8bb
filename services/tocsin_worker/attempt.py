"""One attempt at a run, from the slot it takes to the outcome that is heard of it."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from tocsin.model.runs import Error, OutcomeKind, Run
from tocsin_worker.execution import Ending, Execution, Stop
from tocsin_worker.gauges import Gauges
from tocsin_worker.handlers.port import Context, Deferred, HandlerFailed, Success
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.intake.partition import Delivery, Origin
from tocsin_worker.leases import Lease, LeaseTerms
from tocsin_worker.outcomes import Outcomes
from tocsin_worker.timers import SameDelay, Timers
from tocsin_worker.writer import Heard

LOG = logging.getLogger(__name__)


class Deliveries(Protocol):
    """Where deliveries came from."""

    def passed(self, delivery: Delivery) -> None: ...

    def when_committed(self, delivery: Delivery, call: Callable[[], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Workplace:
    """What every attempt of a worker works with. `soon`: after `terms.claim_after_ms`."""

    worker: str
    terms: LeaseTerms
    timers: Timers
    soon: SameDelay
    outcomes: Outcomes
    registry: Registry
    deliveries: Deliveries
    gauges: Gauges
    is_cancelled: Callable[[str, int], bool]
    enter_host: Callable[[Run, str], Awaitable[None]]


class Attempt:
    """Belongs to the event loop's thread.

        begin ─┬─ cancelled, expired (also after the claim): ended without executing
               ├─ may be a redelivery: claim ─► heard ─► offset committed ─┐
               └───────────────────────────────────────────────────────────┴─► executing ─► ended

    An attempt that is still executing after `claim_after_ms` is claimed then. The offset passes
    with the first of the two that is heard: the claim, or the outcome.
    """

    def __init__(
        self, delivery: Delivery, place: Workplace, ended: Callable[["Attempt"], None]
    ) -> None:
        """`ended` is called once, when the slot is free again; maybe from inside `begin`.
        `duration_ms` is that of its handler then; None if that was never called."""
        self.run = delivery.run
        self.duration_ms: int | None = None
        self._place = place
        self._on_end = ended
        self._deliveries = [delivery]
        self._lease: Lease | None = None
        self._execution: Execution | None = None
        self._started_time: int | None = None
        self._started_at = 0
        self._has_ended = False
        self._has_passed = False

    def __repr__(self) -> str:
        return f"<Attempt {self.run.run_id} {self.run.attempt}>"

    def begin(self) -> None:
        """Must be called once, with a slot taken."""
        if self._place.is_cancelled(self.run.run_id, self.run.attempt):
            self._end("cancelled")
        elif self._is_expired():
            self._end("expired")
        elif self._deliveries[0].redelivered:
            self.claim()
        else:
            self._execute()

    @property
    def executing(self) -> bool:
        """Whether its handler has been called."""
        return self._execution is not None

    def claim(self) -> None:
        """Hold the run by a lease, so that its offset may pass before it has ended."""
        if self._lease is None and not self._has_ended:
            place = self._place
            self._lease = Lease(place.terms, place.timers, self._say, self._held, self._lost)
            self._lease.claim()

    def stop(self, reason: Stop) -> None:
        """End soon; the first reason counts. One that was never begun does not count."""
        if self._has_ended:
            return
        if self._execution is not None:
            self._execution.stop(reason)
        else:
            self._end("cancelled" if reason is Stop.CANCELLED else "declined")

    def join(self, delivery: Delivery) -> None:
        """The same attempt was read again while it is under way: both records pass together. It
        stands for the one that was emitted last from now on."""
        self._deliveries.append(delivery)
        if delivery.run.emitted_time > self.run.emitted_time:
            self.run = delivery.run
        if self._has_passed:
            self._place.deliveries.passed(delivery)
        else:
            self.claim()

    def came_from(self, partitions: Sequence[Origin]) -> list[Delivery]:
        """Those of its records, not yet passed, that were read from these partitions."""
        if self._has_passed:
            return []
        return [delivery for delivery in self._deliveries if delivery.partition in partitions]

    def _is_expired(self) -> bool:
        return self._place.timers.now_ms() > self.run.expires_time

    def _execute(self) -> None:
        """Waiting for the claim may have taken long."""
        if self._has_ended:
            return
        if self._is_expired():
            self._end("expired")
            return
        timers, run = self._place.timers, self.run
        try:
            handler = self._place.registry.handler(run.handler.type)
        except HandlerFailed as error:
            self._finish(error)
            return
        self._started_time, self._started_at = timers.now_ms(), timers.monotonic_ms()
        self._place.gauges.started(run, self._started_time - run.due_time)
        enter_host = partial(self._place.enter_host, run)
        context = Context(self._place.worker, self._started_time, enter_host)
        soon = self._place.soon
        self._execution = Execution(run, handler, context, timers, soon, self.claim, self._finish)

    def _held(self) -> None:
        self._pass()
        if self._execution is None and not self._has_ended:
            self._place.deliveries.when_committed(self._deliveries[0], self._execute)

    def _lost(self) -> None:
        LOG.warning(
            "the lease is lost",
            extra={"action": "lease_lost", "run_id": self.run.run_id, "attempt": self.run.attempt},
        )
        self.stop(Stop.LEASE_LOST)

    def _finish(self, ending: Ending) -> None:
        if isinstance(ending, Success):
            self._end("succeeded", result=ending.result)
        elif isinstance(ending, Deferred):
            self._end("deferred", result=ending.result)
        elif isinstance(ending, HandlerFailed):
            self._end("failed", result=ending.result, error=ending.error)
        elif ending is Stop.CANCELLED:
            self._end("cancelled")
        elif ending is Stop.SUPERSEDED:
            self._end("declined")
        else:
            self._end("failed", error=_stopped(ending, self.run))

    def _end(
        self, kind: OutcomeKind, *, result: bytes | None = None, error: Error | None = None
    ) -> None:
        self._has_ended = True
        self._execution = None
        if self._lease is not None:
            self._lease.release()
        if self._started_time is not None:
            self.duration_ms = self._place.timers.monotonic_ms() - self._started_at
        try:
            self._tell(kind, result, error)
            self._place.gauges.ended(self.run, kind, self.duration_ms)
        finally:
            self._on_end(self)

    def _tell(self, kind: OutcomeKind, result: bytes | None, error: Error | None) -> None:
        """Write the outcome; one that cannot be written becomes a failure, since without any the
        run's offset would never pass."""
        write, started = self._place.outcomes.write, self._started_time
        try:
            write(self.run, kind, self._pass, started_time=started, result=result, error=error)
        except Exception as unwritable:
            LOG.exception(
                "the outcome %s cannot be written",
                kind,
                extra={"action": "outcome_unwritable", "run_id": self.run.run_id},
            )
            message = f"the outcome {kind} cannot be written: {type(unwritable).__name__}"
            instead = Error(code="exception", message=message)
            write(self.run, "failed", self._pass, started_time=started, error=instead)

    def _pass(self) -> None:
        self._has_passed = True
        for delivery in self._deliveries:
            self._place.deliveries.passed(delivery)

    def _say(self, kind: OutcomeKind, heard: Heard) -> None:
        started = self._started_time or self._place.timers.now_ms()
        lease_ms = self._place.terms.lease_ms
        self._place.outcomes.write(self.run, kind, heard, started_time=started, lease_ms=lease_ms)


def _stopped(stop: Stop, run: Run) -> Error:
    if stop is Stop.TIMEOUT:
        return Error(code="timeout", message=f"no result within {run.timeout_ms} ms")
    if stop is Stop.LEASE_LOST:
        return Error(code="lease_expired", message="no heartbeat reached the log in time")
    return Error(code="interrupted", message="the worker was stopped")
