"""A job as JSON: shape, defaults, limits, and every error at once."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.generators import job_keys, jobs, json_values
from tocsin.model.errors import InvalidJob
from tocsin.model.job_json import check_job, parse_job, render_job
from tocsin.model.jobs import CatchUp, Handler, Job, Retry
from tocsin.model.keys import JobKey
from tocsin.model.strict_json import JsonObject, dumps, loads
from tocsin.timetable import ScheduleFields

KEY = JobKey("acme", "daily-report")
LEAST: JsonObject = {"schedule": {"every": "PT10S"}, "handler": {"type": "noop"}}
WHOLE = b"""
{"job_id": "daily-report", "tenant": "acme", "owner": "billing", "description": "Daily report",
 "tags": {"team": "billing"},
 "schedule": {"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin", "gap": "next",
              "fold": "first", "start": "2026-01-01T00:00:00Z"},
 "handler": {"type": "http", "method": "POST", "url": "https://billing.example/report",
             "headers": {"X-Kind": "daily"}, "auth": {"bearer": "secret://billing-token"},
             "expect": ["200-299"]},
 "payload": {"format": "pdf"}, "pool": "default", "priority": "normal", "jitter": "PT30S",
 "timeout": "PT2M", "queue_timeout": "PT1H",
 "retry": {"max_attempts": 5, "initial": "PT10S", "multiplier": 3, "max": "PT1H", "jitter": "full"},
 "overlap": "skip", "catch_up": {"policy": "latest", "after": "PT1M", "window": null},
 "max_runs": null, "pause_on_failures": 10, "keep_completed": "P7D", "status": "active"}
"""


def refused(document: object, key: JobKey = KEY) -> set[tuple[str, str]]:
    """Pointer and keyword of each error."""
    with pytest.raises(InvalidJob) as caught:
        parse_job(document, key)
    return {(error.pointer, error.keyword) for error in caught.value.errors}


def with_field(name: str, value: object) -> object:
    return {**LEAST, name: value}


@given(jobs)
def test_a_rendered_job_reads_back_the_same(job: Job) -> None:
    assert parse_job(render_job(job), job.key) == job


@given(jobs)
def test_a_job_that_keeps_to_the_limits_passes_the_check(job: Job) -> None:
    check_job(job)


@given(jobs)
def test_a_rendered_job_is_strict_json(job: Job) -> None:
    rendered = render_job(job)
    assert loads(dumps(rendered)) == rendered


def test_a_schedule_and_a_handler_are_enough() -> None:
    assert parse_job(LEAST, KEY) == Job(
        tenant="acme",
        job_id="daily-report",
        schedule=ScheduleFields(every_ms=10_000),
        handler=Handler(type="noop", config=b"{}"),
        payload=None,
        owner=None,
        description=None,
        tags={},
        pool="default",
        priority="normal",
        jitter_ms=0,
        timeout_ms=300_000,
        queue_timeout_ms=86_400_000,
        retry=Retry(
            max_attempts=5, initial_ms=10_000, multiplier=3, max_ms=3_600_000, jitter="full"
        ),
        overlap="skip",
        catch_up=CatchUp(policy="latest", after_ms=60_000, window_ms=None),
        max_runs=None,
        pause_on_failures=None,
        keep_completed_ms=604_800_000,
        status=None,
        status_note=None,
    )


def test_the_object_of_the_reference_is_rendered_as_it_was_written() -> None:
    document = loads(WHOLE)
    assert isinstance(document, dict)
    rendered = render_job(parse_job(document, KEY))
    assert rendered == {**document, "status_note": None}


def test_what_only_a_reader_sees_is_ignored_so_that_get_edit_put_works() -> None:
    assert parse_job(with_field("info", {"revision": 7}), KEY) == parse_job(LEAST, KEY)


def test_all_that_is_wrong_is_told_at_once() -> None:
    document = {
        "job_id": "other",
        "schedule": {"cron": "61 * * * *"},
        "handler": {"type": "http", "url": "ftp://x", "methd": "GET"},
        "retry": {"max_attempts": True},
        "jitter": "5m",
        "pritority": "high",
    }
    assert refused(document) == {
        ("/job_id", "agree"),
        ("/schedule/cron", "minute"),
        ("/handler/url", "url"),
        ("/handler/methd", "unknown"),
        ("/retry/max_attempts", "type"),
        ("/jitter", "duration"),
        ("/pritority", "unknown"),
    }


def test_a_misspelled_field_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(InvalidJob, match="there is no field pritority; did you mean priority"):
        parse_job(with_field("pritority", "high"), KEY)


def test_a_misspelled_word_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(InvalidJob, match=r"expected one of .*; did you mean buffer_one\?"):
        parse_job(with_field("overlap", "Buffer-One"), KEY)


def test_a_name_that_yaml_makes_a_number_is_told_and_not_lost() -> None:
    assert refused(with_field("tags", {2026: "a", "b": "c"})) == {("/tags/2026", "type")}
    document: dict[object, object] = {True: 1}
    document.update(LEAST)
    assert refused(document) == {("/True", "type")}


@pytest.mark.parametrize("document", [None, [], "job", 3, True])
def test_a_job_is_an_object(document: object) -> None:
    assert ("", "type") in refused(document)


@pytest.mark.parametrize("name", ["schedule", "handler"])
@pytest.mark.parametrize("value", [..., None])
def test_schedule_and_handler_are_required(name: str, value: object) -> None:
    document = {key: member for key, member in LEAST.items() if key != name}
    if value is not ...:
        document[name] = None
    assert refused(document) == {(f"/{name}", "required")}


@pytest.mark.parametrize(
    "name", ["owner", "description", "payload", "max_runs", "pause_on_failures", "status"]
)
def test_null_is_another_word_for_absent_where_there_is_no_default(name: str) -> None:
    assert parse_job(with_field(name, None), KEY) == parse_job(LEAST, KEY)


@pytest.mark.parametrize("name", ["timeout", "jitter", "priority", "pool", "tags", "retry"])
def test_null_is_wrong_where_there_is_a_default(name: str) -> None:
    (error,) = refused(with_field(name, None))
    assert error[0] == f"/{name}"


@pytest.mark.parametrize("value", [True, 3.0, "3", [3], {"n": 3}])
@pytest.mark.parametrize("name", ["max_runs", "pause_on_failures"])
def test_a_whole_number_is_nothing_else(name: str, value: object) -> None:
    assert refused(with_field(name, value)) == {(f"/{name}", "type")}


@pytest.mark.parametrize(
    ("name", "value", "keyword"),
    [
        ("max_runs", 0, "minimum"),
        ("max_runs", -1, "minimum"),
        ("max_runs", 10**30, "maximum"),
        ("pause_on_failures", 0, "minimum"),
        ("pause_on_failures", 2**31, "maximum"),
        ("jitter", "PT24H0M1S", "maximum"),
        ("jitter", 1.5, "duration"),
        ("jitter", True, "duration"),
        ("jitter", -1, "duration"),
        ("jitter", "P1M", "duration"),
        ("jitter", 10**30, "duration"),
        ("timeout", 0, "minimum"),
        ("timeout", "P31D", "maximum"),
        ("queue_timeout", "PT0S", "minimum"),
        ("queue_timeout", "P7D", "maximum"),
        ("keep_completed", "P36501D", "duration"),
        ("owner", "", "blank"),
        ("owner", " \t", "blank"),
        ("owner", "o" * 129, "length"),
        ("owner", "a\0b", "characters"),
        ("owner", 7, "type"),
        ("description", "d" * 2_001, "length"),
        ("description", "\ud800", "characters"),
        ("status_note", " ", "blank"),
        ("pool", "", "pattern"),
        ("pool", "gpu.large", "pattern"),
        ("pool", "x" * 64, "pattern"),
        ("priority", "High", "enum"),
        ("priority", 1, "type"),
        ("status", "deleted", "enum"),
        ("overlap", "queue", "enum"),
        ("payload", "x" * 262_143, "size"),
        ("payload", float("nan"), "type"),
        ("payload", object(), "type"),
        ("payload", "a\0", "json"),
        ("tags", ["a"], "type"),
    ],
)
def test_limits_and_types_of_one_field(name: str, value: object, keyword: str) -> None:
    assert refused(with_field(name, value)) == {(f"/{name}", keyword)}


@pytest.mark.parametrize(
    ("section", "field", "value", "keyword"),
    [
        ("retry", "max_attempts", 0, "minimum"),
        ("retry", "max_attempts", 10_001, "maximum"),
        ("retry", "max_attempts", 1.0, "type"),
        ("retry", "multiplier", 0.99, "minimum"),
        ("retry", "multiplier", float("nan"), "minimum"),
        ("retry", "multiplier", 10**400, "maximum"),
        ("retry", "multiplier", "3", "type"),
        ("retry", "jitter", "equal", "enum"),
        ("retry", "initial", None, "duration"),
        ("retry", "tries", 3, "unknown"),
        ("catch_up", "policy", "latst", "enum"),
        ("catch_up", "after", "P2D", "maximum"),
        ("catch_up", "window", 0, "minimum"),
        ("tags", "", "v", "blank"),
        ("tags", "k" * 64, "v", "length"),
        ("tags", "k", "v" * 129, "length"),
        ("tags", "k", 1, "type"),
        ("tags", "a/b~c", 1, "type"),
    ],
)
def test_limits_and_types_within_a_section(
    section: str, field: str, value: object, keyword: str
) -> None:
    escaped = field.replace("~", "~0").replace("/", "~1")
    assert refused(with_field(section, {field: value})) == {(f"/{section}/{escaped}", keyword)}


def test_there_are_at_most_32_tags() -> None:
    tags = {f"tag-{number}": "" for number in range(32)}
    assert parse_job(with_field("tags", tags), KEY).tags == tags
    assert refused(with_field("tags", {**tags, "one-more": ""})) == {("/tags", "count")}


def test_a_payload_of_256_kib_is_the_largest() -> None:
    largest = "x" * (256 * 1024 - 2)
    assert parse_job(with_field("payload", largest), KEY).payload == dumps(largest)


def test_the_definition_whole_has_a_limit_too() -> None:
    handler = {"type": "special", "script": "x" * 200_000}
    document = {**LEAST, "handler": handler, "payload": "y" * 200_000}
    assert refused(document) == {("", "size")}


@pytest.mark.parametrize(
    ("schedule", "pointer", "keyword"),
    [
        ({"cron": "0 0 * *"}, "/schedule/cron", "fields"),
        ({"cron": "0 0 * * FUNDAY"}, "/schedule/cron", "day-of-week"),
        ({"cron": "0 0 30 2 *"}, "/schedule", "never"),
        ({"cron": 5}, "/schedule/cron", "cron"),
        ({"every": "PT0S"}, "/schedule/every", "every"),
        ({"at": "tomorrow"}, "/schedule/at", "at"),
        ({"cron": "* * * * *", "timezone": "UTC+2"}, "/schedule/timezone", "timezone"),
        ({"cron": "* * * * *", "every": 5}, "/schedule", "kind"),
        ({"cron": "* * * * *", "tz": "UTC"}, "/schedule", "unknown"),
        ({}, "/schedule", "kind"),
        ("* * * * *", "/schedule", "type"),
    ],
)
def test_errors_of_a_schedule_point_at_its_part(
    schedule: object, pointer: str, keyword: str
) -> None:
    assert refused({**LEAST, "schedule": schedule}) == {(pointer, keyword)}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"tenant": "ACME"}, "/job_id"),
        ({"schedule": ScheduleFields()}, "/schedule"),
        ({"schedule": ScheduleFields(cron="* * * * *", at="2026-01-01T00:00:00Z")}, "/schedule"),
        ({"schedule": ScheduleFields(every_ms=1_500)}, "/schedule/every"),
        ({"schedule": ScheduleFields(cron="* * * * *", gap="jump")}, "/schedule/gap"),
        ({"schedule": ScheduleFields(cron="* * * * *", start=-1)}, "/schedule/start"),
        ({"schedule": ScheduleFields(cron="* * * * *", end=2**62)}, "/schedule/end"),
        ({"jitter_ms": 1_500}, "/jitter"),
        ({"timeout_ms": -(2**62)}, "/timeout"),
        ({"retry": Retry(multiplier=float("inf"))}, "/retry/multiplier"),
        ({"payload": b"{"}, "/payload"),
        ({"payload": b"[" * 300}, "/payload"),
        ({"handler": Handler(type="Http")}, "/handler/type"),
        ({"handler": Handler(type="http", config=b"")}, "/handler"),
        ({"handler": Handler(type="own", config=b"[]")}, "/handler"),
        ({"handler": Handler(type="own", config=b'{"type":"x"}')}, "/handler/type"),
    ],
)
def test_a_definition_in_avro_is_held_to_the_same_rules(
    changes: dict[str, Any], pointer: str
) -> None:
    job = msgspec.structs.replace(parse_job(LEAST, KEY), **changes)
    with pytest.raises(InvalidJob) as caught:
        check_job(job)
    assert [error.pointer for error in caught.value.errors] == [pointer]


@pytest.mark.parametrize(
    "document",
    [
        {f"{number}" * 1_000: 0 for number in range(2_000)},
        with_field("tags", {f"{number}" * 1_000: 0 for number in range(2_000)}),
        with_field("jitter", ["x" * 100_000]),
        with_field("pool", "x" * 100_000),
        with_field("overlap", "x" * 100_000),
        with_field("job_id", "x" * 100_000),
        with_field("schedule", {"cron": "x" * 100_000}),
        with_field("schedule", {"every": ["x" * 100_000], "x" * 100_000: 1}),
        with_field("handler", {"type": "http", "url": "x" * 100_000, "x" * 100_000: "y"}),
        with_field("handler", {"type": "http", "headers": {"x" * 100_000: "ü"}}),
    ],
)
def test_a_long_document_is_refused_in_short(document: object) -> None:
    with pytest.raises(InvalidJob) as caught:
        parse_job(document, KEY)
    assert len(caught.value.errors) <= 150
    assert len(str(caught.value)) < 8_000
    assert max(len(str(error)) for error in caught.value.errors) < 800


@given(jobs, job_keys, st.data())
def test_a_damaged_document_is_a_valid_job_or_invalid_and_nothing_else(
    job: Job, key: JobKey, data: st.DataObject
) -> None:
    document = render_job(job)
    for name in data.draw(st.lists(st.sampled_from(sorted(document)), min_size=1, max_size=3)):
        inner = document[name]
        replaced = data.draw(json_values)
        if isinstance(inner, dict) and inner and data.draw(st.booleans()):
            document[name] = {**inner, data.draw(st.sampled_from(sorted(inner))): replaced}
        else:
            document[name] = replaced
    with suppress(InvalidJob):
        parsed = parse_job(document, key)
        check_job(parsed)
        assert parse_job(render_job(parsed), key) == parsed
