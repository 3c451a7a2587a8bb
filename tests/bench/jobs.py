"""The jobs that benchmarks are made of: 200 bytes of payload, whole, as the gateway writes them."""

from collections.abc import Iterator
from typing import Any

from tocsin.model.jobs import Handler, Job
from tocsin.model.keys import run_id
from tocsin.model.runs import Outcome, Run
from tocsin.timetable import ScheduleFields
from tocsin.timetable.instants import format_instant

PAYLOAD = b'"%s"' % (b"x" * 198)
NOOP = Handler(type="noop")
LONG_MS = 400 * 86_400_000
"""So far ahead that nothing of it happens here."""


def a_job(job_id: str, schedule: ScheduleFields, **fields: Any) -> Job:
    """A definition that the scheduler has nothing to add to."""
    given: dict[str, Any] = {"tenant": "default", "handler": NOOP, "payload": PAYLOAD, **fields}
    return Job(job_id=job_id, schedule=schedule, status="active", **given)


def one_off(job_id: str, at: int, **fields: Any) -> Job:
    return a_job(job_id, ScheduleFields(at=format_instant(at)), **fields)


def one_offs_over_time(
    name: str, begin: int, rate: int, seconds: int, **fields: Any
) -> Iterator[Job]:
    """`rate` a second for so long, the first at `begin`, spread evenly over the milliseconds."""
    for n in range(rate * seconds):
        yield one_off(f"{name}-{n}", begin + n * 1000 // rate, **fields)


def one_offs_at_once(name: str, due: int, number: int, **fields: Any) -> Iterator[Job]:
    for n in range(number):
        yield one_off(f"{name}-{n}", due, **fields)


def sleepers(name: str, now: int, number: int) -> Iterator[Job]:
    """Jobs that are only there: one-offs of next year, a second apart."""
    for n in range(number):
        yield one_off(f"{name}-{n}", now + LONG_MS + n * 1000)


def intervals(name: str, now: int, number: int, rate: int, **fields: Any) -> Iterator[Job]:
    """Jobs of which together `rate` a second are due, evenly spread, from now on."""
    period_ms = number * 1000 // rate
    for n in range(number):
        start = now - period_ms + n * 1000 // rate
        yield a_job(f"{name}-{n}", ScheduleFields(every_ms=period_ms, start=start), **fields)


def a_run(job_id: str, due: int) -> Run:
    """As a scheduler emits it when it is due."""
    return Run(
        run_id=run_id("default", job_id, due),
        scheduled_time=due,
        due_time=due,
        emitted_time=due,
        expires_time=due + 86_400_000,
        attempt=1,
        cause="schedule",
        tracked=False,
        max_attempts=5,
        tenant="default",
        job_id=job_id,
        revision=0,
        priority="normal",
        pool="default",
        handler=NOOP,
        payload=PAYLOAD,
        timeout_ms=300_000,
    )


def a_success(job_id: str, due: int) -> Outcome:
    """What a worker says of that run when it has ended."""
    return Outcome(
        run_id=run_id("default", job_id, due),
        tenant="default",
        job_id=job_id,
        attempt=1,
        kind="succeeded",
        worker="bench",
        time=due,
        started_time=due,
    )
