"""A run put together from halves is the run encoded whole."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from tests.wire.golden_values import LEAST_JOB
from tocsin.model.jobs import Handler, Job
from tocsin.model.runs import Cause, Run
from tocsin.wire.codec import RUN
from tocsin.wire.run_bytes import run_tail, run_value

INSTANTS = st.integers(-(2**62), 2**62)


@given(
    run_id=st.text(max_size=300),
    times=st.tuples(INSTANTS, INSTANTS, INSTANTS, INSTANTS),
    attempt=st.integers(1, 10_000),
    cause=st.sampled_from(get_args(Cause)),
    tracked=st.booleans(),
    payload=st.none() | st.binary(max_size=50),
    revision=st.integers(0, 2**62),
)
def test_halves_make_the_bytes_of_the_whole(
    run_id: str,
    times: tuple[int, int, int, int],
    attempt: int,
    cause: Cause,
    tracked: bool,
    payload: bytes | None,
    revision: int,
) -> None:
    job = Job(
        tenant="acme",
        job_id="report",
        schedule=LEAST_JOB.schedule,
        handler=Handler(type="http", config=b'{"url":"http://a.example"}'),
        payload=payload,
    )
    scheduled, due, emitted, expires = times
    run = Run(
        run_id=run_id,
        scheduled_time=scheduled,
        due_time=due,
        emitted_time=emitted,
        expires_time=expires,
        attempt=attempt,
        cause=cause,
        tracked=tracked,
        max_attempts=job.retry.max_attempts,
        tenant=job.tenant,
        job_id=job.job_id,
        revision=revision,
        priority=job.priority,
        pool=job.pool,
        handler=job.handler,
        payload=payload,
        timeout_ms=job.timeout_ms,
    )
    tail = run_tail(job, revision)
    value = run_value(run_id, scheduled, due, emitted, expires, attempt, cause, tracked, tail)
    assert value == RUN.encode(run)
