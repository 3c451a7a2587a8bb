"""Runs, events and cancellations on their way to the log."""

import msgspec

from tocsin.model.events import Event, EventType
from tocsin.model.fold import Held
from tocsin.model.jobs import Job, Priority
from tocsin.model.keys import parse_job_key, run_id
from tocsin.model.runs import Cancel, Cause, Dead, Outcome, Run
from tocsin.wire.codec import CANCEL, DEAD, EVENT, OUTCOME, RUN
from tocsin.wire.run_bytes import run_value
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.firing import Firing
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.turn import Turn

OWN: frozenset[Cause] = frozenset({"schedule", "catch_up"})
"""Causes of occurrences that the schedule asks for."""


class Emission:
    """Appends to the turn's records; decides nothing."""

    def __init__(self, config: CoreConfig) -> None:
        self._config = config
        self._topics: dict[tuple[str, str], str] = {}

    def has_pool(self, pool: str) -> bool:
        return pool in self._config.pools

    def occurrence(
        self,
        turn: Turn,
        key: bytes,
        firing: Firing,
        nominal: int,
        due: int,
        cause: Cause,
        tracked: bool,
        suffix: str = "",
    ) -> tuple[str, int]:
        """The first attempt at a scheduled occurrence; returns its run id and expiry."""
        tenant, _, job_id = key.decode().partition("/")
        name = run_id(tenant, job_id, nominal, suffix)
        expires = max(due, turn.now) + firing.queue_timeout_ms
        value = run_value(name, nominal, due, turn.now, expires, 1, cause, tracked, firing.tail)
        self._run(turn, firing.priority, firing.pool, name, value)
        turn.lateness.append(turn.now - due)
        turn.results["emitted"] += 1
        return name, expires

    def run(self, turn: Turn, run: Run) -> None:
        """An attempt that is known whole."""
        self._run(turn, run.priority, run.pool, run.run_id, RUN.encode(run))

    def _run(self, turn: Turn, priority: Priority, pool: str, name: str, value: bytes) -> None:
        topic = self._topics.get((priority, pool))
        if topic is None:
            topic = self._config.topics.runs(priority, pool)
            self._topics[priority, pool] = topic
        turn.out.append(Outgoing(topic, name.encode(), value))
        turn.budget.runs -= 1
        turn.budget.size -= len(value)

    def event(self, turn: Turn, event: Event) -> None:
        key = str(event.key).encode()
        value = EVENT.encode(event)
        turn.budget.size -= len(value)
        turn.out.append(Outgoing(self._config.topics.events, key, value, self._config.partition))

    def skipped(
        self,
        turn: Turn,
        key: bytes,
        nominal: int,
        reason: str,
        name: str | None = None,
        cause: Cause = "schedule",
    ) -> None:
        """One occurrence, or a run that was asked for, that does not run."""
        self.passed_over(turn, key, "skipped", reason, 1, nominal, nominal, name, cause)

    def passed_over(
        self,
        turn: Turn,
        key: bytes,
        kind: EventType,
        reason: str,
        count: int,
        first: int,
        last: int,
        name: str | None = None,
        cause: Cause = "schedule",
    ) -> None:
        """`count` occurrences from `first` to `last` that are `skipped` or `missed`.

        The event names a cause only where they are not the schedule's own.
        """
        tenant, job_id = parse_job_key(key.decode())
        one = first == last
        if one and name is None and cause in OWN:
            name = run_id(tenant, job_id, first)
        event = Event(
            tenant=tenant,
            job_id=job_id,
            type=kind,
            time=turn.now,
            reason=reason,
            run_id=name if one else None,
            scheduled_time=first if one else None,
            count=count,
            first=first,
            last=last,
            cause=None if cause in OWN else cause,
        )
        self.event(turn, event)
        turn.results[kind] += count

    def about(
        self,
        turn: Turn,
        key: bytes,
        kind: EventType,
        reason: str,
        *,
        name: str | None = None,
        scheduled_time: int | None = None,
        attempt: int | None = None,
        retry_time: int | None = None,
        revision: int | None = None,
        count: int = 1,
    ) -> None:
        """An event about a run, or about the job where no run is named."""
        tenant, _, job_id = key.decode("utf-8", "replace").partition("/")
        event = Event(
            tenant=tenant,
            job_id=job_id,
            type=kind,
            time=turn.now,
            reason=reason,
            run_id=name,
            scheduled_time=scheduled_time,
            attempt=attempt,
            retry_time=retry_time,
            revision=revision,
            count=count,
        )
        self.event(turn, event)

    def cancel(self, turn: Turn, name: str, attempt: int, worker: str | None = None) -> None:
        value = CANCEL.encode(Cancel(run_id=name, attempt=attempt, worker=worker))
        turn.out.append(Outgoing(self._config.topics.cancels, name.encode(), value))

    def outcome(self, turn: Turn, outcome: Outcome) -> None:
        """In place of a worker: how an attempt ended that goes on outside of workers."""
        key, value = str(outcome.key).encode(), OUTCOME.encode(outcome)
        turn.out.append(Outgoing(self._config.topics.outcomes, key, value, self._config.partition))

    def dead(self, turn: Turn, dead: Dead) -> None:
        key = str(dead.run.key).encode()
        value = DEAD.encode(dead)
        turn.budget.size -= len(value)
        turn.out.append(Outgoing(self._config.topics.dead, key, value))
        turn.dead += 1


def whole_run(
    job: Job,
    held: Held,
    *,
    name: str,
    nominal: int,
    due: int,
    now: int,
    cause: Cause,
    tracked: bool,
    payload: bytes | None = None,
) -> Run:
    """The first attempt at an occurrence of the definition that is held."""
    return Run(
        run_id=name,
        scheduled_time=nominal,
        due_time=due,
        emitted_time=now,
        expires_time=max(due, now) + job.queue_timeout_ms,
        attempt=1,
        cause=cause,
        tracked=tracked,
        max_attempts=job.retry.max_attempts,
        tenant=job.tenant,
        job_id=job.job_id,
        revision=held.revision,
        priority=job.priority,
        pool=job.pool,
        handler=job.handler,
        payload=job.payload if payload is None else payload,
        timeout_ms=job.timeout_ms,
    )


def again(run: Run, attempt: int, now: int) -> Run:
    """The run as it was, emitted once more; the time it may wait in the queue begins anew."""
    patience = run.expires_time - max(run.due_time, run.emitted_time)
    return msgspec.structs.replace(
        run, attempt=attempt, emitted_time=now, expires_time=now + patience, tracked=True
    )


def resumed(run: Run, now: int) -> Run:
    """A run that was sent away for a while, emitted once more as the same attempt. Its time in the
    queue goes on; a millisecond more tells it from the emission before."""
    return msgspec.structs.replace(
        run, emitted_time=now, expires_time=run.expires_time + 1, tracked=True
    )
