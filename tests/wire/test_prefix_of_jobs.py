"""The schedule's fields of a job, read without the rest."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.generators import jobs
from tests.wire.golden_values import FULL_JOB
from tocsin.model.jobs import Job
from tocsin.wire.codec import JOB, PREFIX_BYTES, WireError
from tocsin.wire.prefixes import JOB_PREFIX, JobPrefix


@given(jobs)
def test_the_prefix_says_what_the_whole_says(job: Job) -> None:
    assert JOB_PREFIX.decode(JOB.encode(job)) == JobPrefix(
        schedule=job.schedule,
        jitter_ms=job.jitter_ms,
        status=job.status,
        priority=job.priority,
        tenant=job.tenant,
        job_id=job.job_id,
    )


@given(jobs, st.binary(max_size=40))
def test_what_follows_the_prefix_is_not_looked_at(job: Job, rest: bytes) -> None:
    job = msgspec.structs.replace(job, job_id="a-name-that-no-schedule-has")
    whole = JOB.encode(job)
    name = bytes([len(job.job_id) * 2]) + job.job_id.encode()
    end = whole.index(name, PREFIX_BYTES) + len(name)
    assert JOB_PREFIX.decode(whole[:end] + rest) == JOB_PREFIX.decode(whole)


@given(st.binary(max_size=60))
def test_random_bytes_only_ever_raise_wire_error(data: bytes) -> None:
    for value in (data, JOB.encode(FULL_JOB)[:PREFIX_BYTES] + data):
        with suppress(WireError):
            JOB_PREFIX.decode(value)


def test_a_word_that_is_none_is_a_wire_error() -> None:
    whole = JOB.encode(FULL_JOB)
    with pytest.raises(WireError):
        JOB_PREFIX.decode(whole.replace(b"\x08high", b"\x08huge"))
