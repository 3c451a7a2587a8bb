"""Names of jobs and runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.generators import instants, job_keys
from tocsin.model.keys import (
    InvalidKey,
    JobKey,
    job_key,
    parse_job_key,
    parse_run_id,
    run_id,
    run_time,
)

suffixes = st.just("") | st.from_regex(r"-[mb][0-9a-f]{8}", fullmatch=True)


@given(job_keys)
def test_a_job_key_reads_back_the_same(key: JobKey) -> None:
    assert parse_job_key(str(key)) == key


@given(job_keys, instants, suffixes)
def test_a_run_id_reads_back_the_same(key: JobKey, scheduled: int, suffix: str) -> None:
    name = parse_run_id(run_id(key.tenant, key.job_id, scheduled, suffix))
    assert (name.key, name.scheduled_time, name.suffix) == (key, scheduled, suffix)


@given(instants, instants)
def test_run_ids_of_a_job_sort_by_time(one: int, other: int) -> None:
    assert (run_time(one) < run_time(other)) == (one < other)


@pytest.mark.parametrize(
    ("scheduled", "text"),
    [
        (0, "19700101T000000.000Z"),
        (1, "19700101T000000.001Z"),
        (951_782_400_999, "20000229T000000.999Z"),
        (253_402_300_799_999, "99991231T235959.999Z"),
    ],
)
def test_a_run_s_time_is_written_to_the_millisecond(scheduled: int, text: str) -> None:
    assert run_id("acme", "a.b", scheduled) == f"acme.a.b.{text}"
    assert parse_run_id(f"acme.a.b.{text}").scheduled_time == scheduled


@pytest.mark.parametrize(
    "text",
    ["", "acme", "/x", "acme/", "ACME/x", "-a/x", "a_b/x", "acme/.x", "acme/x y", "acme/x/y",
     "acme/ä", "acme/x\n", "a" * 64 + "/x", "acme/" + "x" * 201],
)  # fmt: skip
def test_what_is_not_a_job_key_is_refused(text: str) -> None:
    with pytest.raises(InvalidKey):
        parse_job_key(text)


def test_the_longest_names_are_taken() -> None:
    assert job_key("a" * 63, "x" * 200) == ("a" * 63, "x" * 200)


@pytest.mark.parametrize(
    "text",
    ["", "acme.x", "acme.x.20260230T000000.000Z", "acme.x.20260101T000000Z",
     "acme.x.20260101T240000.000Z", "acme.x.20260101T000000.000Z-x12345678",
     "acme.x.20260101T000000.000Z-m1234567",
     "acme.x.20260101T000000.000z", "acme.x.00000101T000000.000Z", "acme.x.20260101T000000.000Z\n"],
)  # fmt: skip
def test_what_is_not_a_run_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidKey):
        parse_run_id(text)
