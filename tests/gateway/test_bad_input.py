"""What the API refuses: always a 4xx with problem details, never stored, never a 500."""

from collections.abc import Iterator
from random import Random
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.documents import http_job, job
from tests.gateway.harness import Harness

JSON = {"Content-Type": "application/json"}
NESTED = '{"schedule": {"cron": "0 7 * * *"}, "handler": {"type": "noop"}, "payload": %s}'


def refused(answer: httpx.Response, status: int = 422) -> dict[str, Any]:
    """The problem of an answer that refuses, checked for its form."""
    problem: dict[str, Any] = answer.json()
    assert answer.status_code == problem["status"] == status, problem
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert problem["type"].startswith("/problems/")
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["X-Request-Id"]
    return problem


def put_raw(http: httpx.Client, body: str | bytes) -> httpx.Response:
    return http.put("/v1/jobs/a", content=body, headers=JSON)


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    """One for all: whatever is asked here leaves nothing behind."""
    with Harness(tmp_path_factory.mktemp("gateway")) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_is_stored(http: httpx.Client) -> Iterator[None]:
    """Whatever was refused, the list is whole and empty afterwards."""
    yield
    assert http.get("/v1/jobs").json() == {"items": []}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"misfire_grace": 5}, "/misfire_grace"),
        ({"catchUp": {}}, "/catchUp"),
        ({"retrys": 3}, "/retrys"),
        ({"retry": {"max": "PT1H", "retries": 3}}, "/retry/retries"),
        ({"schedule": {"cron": "0 7 * * *", "tz": "UTC"}}, "/schedule"),
    ],
)
def test_b100_a_misspelt_setting_is_named(
    http: httpx.Client, changes: dict[str, Any], pointer: str
) -> None:
    problem = refused(http.put("/v1/jobs/a", json=job(**changes)))

    assert [error["pointer"] for error in problem["errors"]] == [pointer]


@pytest.mark.parametrize(
    "zone", ["+05:30", "Mars/Base", "", "../../etc/passwd", "UTC\n", "America/New_York ", 5, None]
)
def test_b131_a_bad_time_zone_is_refused(http: httpx.Client, zone: object) -> None:
    schedule = {"cron": "0 7 * * *", "timezone": zone}
    problem = refused(http.put("/v1/jobs/a", json=job(schedule=schedule)))

    assert problem["errors"][0]["pointer"] == "/schedule/timezone"


@pytest.mark.parametrize(
    "at", [1767225600, 1767225600000, 1767225600000000, 86400, "1767225600", -1, "2026-01-01"]
)
def test_b132_an_instant_is_text_with_an_offset(http: httpx.Client, at: object) -> None:
    refused(http.put("/v1/jobs/a", json=job(schedule={"at": at})))


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"owner": 5}, "/owner"),
        ({"owner": "x" * 129}, "/owner"),
        ({"description": ["x"]}, "/description"),
        ({"tags": {"a": 1}}, "/tags/a"),
        ({"tags": []}, "/tags"),
        ({"tags": {str(n): "" for n in range(33)}}, "/tags"),
        ({"handler": {}}, "/handler/type"),
        ({"handler": "noop"}, "/handler"),
        ({"pool": "no pool"}, "/pool"),
        ({"priority": "urgent"}, "/priority"),
        ({"jitter": "P2D"}, "/jitter"),
        ({"timeout": "5m"}, "/timeout"),
        ({"timeout": 0}, "/timeout"),
        ({"queue_timeout": "P7D"}, "/queue_timeout"),
        ({"retry": {"multiplier": "x"}}, "/retry/multiplier"),
        ({"overlap": "SKIP"}, "/overlap"),
        ({"catch_up": {"policy": "none"}}, "/catch_up/policy"),
        ({"catch_up": {"window": 0}}, "/catch_up/window"),
        ({"max_runs": 0}, "/max_runs"),
        ({"pause_on_failures": -1}, "/pause_on_failures"),
        ({"keep_completed": None}, "/keep_completed"),
        ({"status": "off"}, "/status"),
        ({"job_id": "other"}, "/job_id"),
        ({"tenant": "other"}, "/tenant"),
        ({"schedule": None}, "/schedule"),
        ({"schedule": {"cron": "0 7 * * MOON"}}, "/schedule/cron"),
    ],
)
def test_b137_each_wrong_field_is_named_with_its_reason(
    http: httpx.Client, changes: dict[str, Any], pointer: str
) -> None:
    problem = refused(http.put("/v1/jobs/a", json=job(**changes)))

    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert all(error["message"] and error["keyword"] for error in problem["errors"])


def test_b137_all_wrong_fields_are_named_at_once(http: httpx.Client) -> None:
    problem = refused(http.put("/v1/jobs/a", json=job(owner=1, pool=2, overlap=3)))

    assert problem["detail"] == "3 fields are wrong"
    assert {error["pointer"] for error in problem["errors"]} == {"/owner", "/pool", "/overlap"}


@pytest.mark.parametrize("attempts", [3.0, "3", True, -1, 0, 10**30, None])
def test_b138_a_number_is_a_whole_number(http: httpx.Client, attempts: object) -> None:
    problem = refused(http.put("/v1/jobs/a", json=job(retry={"max_attempts": attempts})))

    assert problem["errors"][0]["pointer"] == "/retry/max_attempts"


@pytest.mark.parametrize("body", ["[]", "null", '"job"', "5", "true"])
def test_b138_a_job_is_an_object(http: httpx.Client, body: str) -> None:
    refused(put_raw(http, body))


@pytest.mark.parametrize("body", [b"", b" ", b"{", b"{]", b"nul", b"{'a': 1}", b'{"a": 1}}'])
def test_what_is_not_json_is_a_bad_request(http: httpx.Client, body: bytes) -> None:
    assert refused(put_raw(http, body), 400)["type"] == "/problems/not-json"


def test_b138_a_name_twice_is_refused(http: httpx.Client) -> None:
    problem = refused(put_raw(http, '{"owner": "a", "owner": "b"}'))

    (error,) = problem["errors"]
    assert (error["pointer"], error["keyword"]) == ("/owner", "json")
    assert "'owner' twice" in error["message"]


@pytest.mark.parametrize("field", ["owner", "description", "job_id"])
@pytest.mark.parametrize("blank", ["", "  ", "\u3000"])
def test_b138_a_blank_name_is_refused(http: httpx.Client, field: str, blank: str) -> None:
    problem = refused(http.post("/v1/jobs", json=job(**{field: blank})))

    assert [error["pointer"] for error in problem["errors"]] == [f"/{field}"]


@pytest.mark.parametrize("depth", [65, 2_000, 200_000])
def test_b138_deep_nesting_is_refused(http: httpx.Client, depth: int) -> None:
    problem = refused(put_raw(http, NESTED % ("[" * depth + "]" * depth)))

    assert problem["errors"][0]["pointer"].startswith("/payload/0/0")


def test_b138_an_integer_of_5000_digits_is_refused(http: httpx.Client) -> None:
    refused(put_raw(http, NESTED % ("9" * 5_000)))


@pytest.mark.parametrize("cron", ["1," * 10_000 + "1 * * * *", "9" * 5_000 + " * * * *"])
def test_b054_a_very_long_expression_is_refused(http: httpx.Client, cron: str) -> None:
    problem = refused(http.put("/v1/jobs/a", json=job(schedule={"cron": cron})))

    assert problem["errors"][0]["keyword"] == "length"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
def test_b128_a_number_that_json_does_not_have_is_refused(http: httpx.Client, number: str) -> None:
    problem = refused(put_raw(http, NESTED % f'{{"x": {number}}}'))

    assert [error["pointer"] for error in problem["errors"]] == ["/payload/x"]


@pytest.mark.parametrize("delay", ["NaN", "1e400", "-Infinity", '"NaN"', '"1e400"', "1.5", "-1"])
@pytest.mark.parametrize("field", ["jitter", "timeout", "queue_timeout"])
def test_b128_a_delay_that_is_no_number_is_refused(
    http: httpx.Client, field: str, delay: str
) -> None:
    problem = refused(put_raw(http, NESTED % f'null, "{field}": {delay}'))

    assert [error["pointer"] for error in problem["errors"]] == [f"/{field}"]


@pytest.mark.parametrize("text", [r"a\ud800b", r"a\udc00", r"a\u0000b"])
@pytest.mark.parametrize("field", ["owner", "payload"])
def test_b129_half_a_surrogate_pair_and_nul_are_refused(
    http: httpx.Client, text: str, field: str
) -> None:
    problem = refused(put_raw(http, f'{{"{field}": "{text}"}}'))

    assert [error["pointer"] for error in problem["errors"]] == [f"/{field}"]


@pytest.mark.parametrize(
    "body", [b'{"owner": "\xff"}', b'\xef\xbb\xbf{"owner": "x"}', b'{"owner": "\xed\xa0\x80"}']
)
def test_b129_bad_bytes_are_a_bad_request(http: httpx.Client, body: bytes) -> None:
    refused(put_raw(http, body), 400)


@pytest.mark.parametrize("size", [263_000, 900_000, 1_000_000])
def test_b139_a_payload_over_the_limit_is_refused(http: httpx.Client, size: int) -> None:
    problem = refused(http.put("/v1/jobs/a", json=job(payload="x" * size)))

    assert problem["errors"][0]["pointer"] == "/payload"


@pytest.mark.parametrize("size", [1_048_576, 5_000_000])
def test_b139_a_body_over_the_limit_is_refused(http: httpx.Client, size: int) -> None:
    refused(http.put("/v1/jobs/a", json=job(payload="x" * size)), 413)
    refused(http.put("/v1/jobs/a", json=job(payload=Random(1).randbytes(size // 2).hex())), 413)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "café"),
        ("X-A", "漢字"),
        ("", "x"),
        ("X A", "x"),
        ("X-A", "a\r\nB: c"),
        ("X-A", "\t\n"),
        ("X-A", "a\0b"),
    ],
)
def test_b136_a_header_that_cannot_be_sent_is_named(
    http: httpx.Client, name: str, value: str
) -> None:
    problem = refused(http.put("/v1/jobs/a", json=http_job(headers={name: value})))

    assert problem["errors"][0]["pointer"] == f"/handler/headers/{name}"


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json; charset=latin-1"])
def test_another_media_type_is_refused(http: httpx.Client, content_type: str) -> None:
    headers = {"Content-Type": content_type}

    refused(http.put("/v1/jobs/a", content=b"{}", headers=headers), 415)


@pytest.mark.parametrize("job_id", ["-a", ".a", "a b", "a:b", "ä", "a" * 201, "a%0A"])
def test_an_id_that_could_not_be_used_is_refused(http: httpx.Client, job_id: str) -> None:
    problem = refused(http.put(f"/v1/jobs/{job_id}", json=job()))

    assert problem["errors"][0]["pointer"] == "/job_id"
    assert http.get(f"/v1/jobs/{job_id}").status_code == 404


@pytest.mark.parametrize(
    ("path", "parameter"),
    [
        ("/v1/jobs?limit=0", "limit"),
        ("/v1/jobs?limit=501", "limit"),
        ("/v1/jobs?limit=x", "limit"),
        ("/v1/jobs?limit=1&limit=2", "limit"),
        ("/v1/jobs?statuss=active", "statuss"),
        ("/v1/jobs?status=running", "status"),
        ("/v1/jobs?sort=owner", "sort"),
        ("/v1/jobs?cursor=x", "cursor"),
        ("/v1/jobs?cursor=WyJydW5zIiwxLCJ4Il0", "cursor"),
        ("/v1/runs?status=failed", "status"),
        ("/v1/runs?since=yesterday", "since"),
        ("/v1/runs?cursor=%00", "cursor"),
        ("/v1/jobs/a/runs?job_id=a", "job_id"),
        ("/v1/jobs/a/preview?n=1001", "n"),
    ],
)
def test_a_wrong_parameter_is_named(http: httpx.Client, path: str, parameter: str) -> None:
    problem = refused(http.get(path))

    assert problem["errors"][0]["pointer"] == f"/{parameter}"


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("/v1/schedules:preview", {}, "/schedule"),
        ("/v1/schedules:preview", {"schedule": {"every": "PT0S"}}, "/schedule/every"),
        ("/v1/schedules:preview", {"schedule": {"every": 1}, "n": 1_001}, "/n"),
        ("/v1/schedules:preview", {"schedule": {"every": 1}, "m": 1}, "/m"),
        ("/v1/jobs/a/pause", {"notes": "x"}, "/notes"),
        ("/v1/jobs/a/pause", {"note": 5}, "/note"),
        ("/v1/jobs/a/trigger", {"overlap": "all"}, "/overlap"),
        ("/v1/jobs/a/trigger", {"payloads": 1}, "/payloads"),
        ("/v1/jobs/a/resume", {"note": "x"}, "/note"),
    ],
)
def test_a_wrong_command_is_refused(
    http: httpx.Client, path: str, body: object, pointer: str
) -> None:
    problem = refused(http.post(path, json=body))

    assert problem["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    "path",
    [
        "/v1/jobs/a/pause?dry_run=true",
        "/v1/jobs/a/resume?dry_run=true",
        "/v1/jobs/a/trigger?dry_run=true",
        "/v1/jobs:bulk?dry_run=true",
        "/v1/runs:bulk?dry_run=true",
        "/v1/schedules:preview?dry_run=true",
        "/v1/jobs/a/backfills?dry_run=true",
    ],
)
def test_a_command_that_cannot_be_tried_dry_is_not_done(http: httpx.Client, path: str) -> None:
    problem = refused(http.post(path, json={}))

    assert [error["pointer"] for error in problem["errors"]] == ["/dry_run"]


def test_unknown_paths_and_methods_are_problems_too(http: httpx.Client) -> None:
    refused(http.get("/v2/jobs"), 404)
    refused(http.delete("/v1/jobs"), 405)


def test_b134_an_instant_out_of_range_is_refused(http: httpx.Client) -> None:
    for at in ("1969-12-31T23:59:59.999Z", "10000-01-01T00:00:00Z"):
        refused(http.put("/v1/jobs/a", json=job(schedule={"at": at})))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode()))
def test_no_bytes_are_an_internal_error(harness: Harness, body: bytes) -> None:
    for path in ("/v1/jobs", "/v1/jobs/a/trigger", "/v1/schedules:preview"):
        answer = harness.http.post(path, content=body, headers=JSON)

        assert 400 <= answer.status_code < 500
