"""Commands as anybody may produce them: Avro, or JSON from a console producer."""

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.generators import job_keys, jobs
from tests.wire.golden_values import FULL_RUN, LEAST_JOB, SIGNAL_ID
from tocsin.model.job_json import render_job
from tocsin.model.jobs import Handler, Job
from tocsin.model.keys import JobKey
from tocsin.model.signals import Signal
from tocsin.model.strict_json import dumps
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB, RUN, SIGNAL
from tocsin.wire.commands import InvalidCommand, decode_job_command, decode_key, decode_signal

HELLO = JobKey("default", "hello")


@given(jobs)
def test_json_and_avro_of_a_job_are_the_same_command(job: Job) -> None:
    assert decode_job_command(job.key, dumps(render_job(job))) == job
    assert decode_job_command(job.key, JOB.encode(job)) == job


def test_the_line_of_the_console_producer_is_a_job() -> None:
    value = b'{"schedule": {"every": "PT10S"}, "handler": {"type": "noop"}}'
    assert decode_job_command(HELLO, value) == Job(
        tenant="default",
        job_id="hello",
        schedule=ScheduleFields(every_ms=10_000),
        handler=Handler(type="noop"),
    )


@given(jobs, job_keys)
def test_a_definition_of_another_job_is_refused(job: Job, key: JobKey) -> None:
    for value in (JOB.encode(job), dumps(render_job(job))):
        if key != job.key:
            with pytest.raises(InvalidCommand, match=f"{key.tenant}/"):
                decode_job_command(key, value)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (b"", "no schema id in front"),
        (b"hello", "no schema id in front"),
        (b"\x00\x00\x00\x00\x2a1", "schema id 42; a job has 7410001"),
        (b'{"schedule": ', "not JSON: expecting value, at line 1 column 14"),
        (b'{"a": 1, "a": 2}', "'a' twice in one object"),
        (b"{}", "/schedule: schedule is missing; /handler: handler is missing"),
        (b"{" * 200_000, "more than 64 levels"),
        (RUN.encode(FULL_RUN), "schema id 7410004; a job has 7410001"),
        (JOB.encode(LEAST_JOB)[:-1], "not a job in Avro"),
    ],
)
def test_what_is_no_job_is_refused_with_a_sentence(value: bytes, sentence: str) -> None:
    with pytest.raises(InvalidCommand, match=sentence):
        decode_job_command(HELLO, value)


def test_avro_that_breaks_a_rule_is_refused_like_json() -> None:
    job = Job(
        tenant="default",
        job_id="hello",
        schedule=ScheduleFields(cron="61 * * * *"),
        handler=Handler(type="http", config=b"{}"),
        pool="",
    )
    with pytest.raises(InvalidCommand) as caught:
        decode_job_command(HELLO, JOB.encode(job))
    for pointer in ("/schedule/cron", "/handler/url", "/pool"):
        assert f"{pointer}: " in str(caught.value)


@given(st.binary(max_size=60), st.sampled_from([b"", b"{", JOB.encode(LEAST_JOB)[:5]]))
def test_any_bytes_are_a_command_or_invalid(data: bytes, front: bytes) -> None:
    with suppress(InvalidCommand):
        decode_job_command(HELLO, front + data)
    with suppress(InvalidCommand):
        decode_signal(front + data)


def test_signals_are_read_from_json_and_avro() -> None:
    trigger = Signal(signal="trigger", signal_id=SIGNAL_ID, payload=b'{"a":1}', overlap="skip")
    document = {"signal": "trigger", "signal_id": SIGNAL_ID, "payload": {"a": 1}, "overlap": "skip"}
    assert decode_signal(SIGNAL.encode(trigger)) == trigger
    assert decode_signal(json.dumps(document).encode()) == trigger


def test_a_signal_in_avro_is_held_to_the_same_rules() -> None:
    signal = Signal(signal="backfill", signal_id=SIGNAL_ID, from_time=1)
    with pytest.raises(InvalidCommand, match="/to: to is missing: backfill needs it"):
        decode_signal(SIGNAL.encode(signal))
    with pytest.raises(InvalidCommand, match="/signal_id: is not a UUID"):
        decode_signal(SIGNAL.encode(msgspec.structs.replace(signal, signal_id="1", to_time=2)))


@given(job_keys)
def test_a_record_s_key_names_its_job(key: JobKey) -> None:
    assert decode_key(str(key).encode()) == key


@pytest.mark.parametrize("key", [None, b"", b"hello", b"\xff/x", b"default/a b", b"default/a/b"])
def test_a_key_that_names_no_job_is_refused(key: bytes | None) -> None:
    with pytest.raises(InvalidCommand, match=r"tenant/job_id|job_id|tenant"):
        decode_key(key)
