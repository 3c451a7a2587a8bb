"""What an answer means to handler `http`, and what is kept of it."""

import base64
import json
from encodings.aliases import aliases

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.handlers.http_support import (
    fail,
    failure,
    http_run,
    play,
    succeed,
)
from tests.worker.handlers.server import Server
from tocsin_worker.handlers.http.answer import MAX_BODY_BYTES, result, retry_after_ms
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.port import Deferred, Success
from tocsin_worker.limits import RESULT_BYTES
from tocsin_worker.testing import CONTEXT


def test_the_answer_is_kept() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 201, b'{"id": 7}', Content_Type="application/json", X_Kind="test")
        result = await succeed(client, http_run(site.url()))
        assert result["status"] == 201
        assert result["headers"]["x-kind"] == "test"
        assert result["body"] == '{"id": 7}'

    play(scenario)


@pytest.mark.parametrize(
    ("status", "permanent"),
    [(408, False), (425, False), (429, False), (500, False), (503, False), (504, False),
     (400, True), (401, True), (404, True), (410, True), (422, True), (304, True)],
)  # fmt: skip
def test_b123_other_statuses_are_failures_and_some_are_worth_a_retry(
    status: int, permanent: bool
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/x", status, b"" if status == 304 else b"why not")
        error = await fail(client, http_run(site.url("/x?token=t0ken")))
        assert (error.code, error.permanent) == ("http_status", permanent)
        assert f"answered {status}" in error.message
        assert "t0ken" not in error.message
        assert status == 304 or "why not" in error.message

    play(scenario)


@pytest.mark.parametrize(
    ("expect", "status", "ok"),
    [
        (["200-299"], 204, True),
        (["200-299"], 302, False),
        ([404], 404, True),
        (["200", "410-499"], 410, True),
        (["200"], 201, False),
        ([302], 302, True),
    ],
)
def test_b123_the_job_says_which_statuses_it_expects(
    expect: list[object], status: int, ok: bool
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", status)
        run = http_run(site.url(), expect=expect)
        if ok:
            assert (await succeed(client, run))["status"] == status
        else:
            assert (await fail(client, run)).code == "http_status"

    play(scenario)


@pytest.mark.parametrize(
    ("value", "retry_after_ms"),
    [("0", 0), ("120", 120_000), (" 7 ", 7_000), ("soon", None), ("-5", None), ("1.5", None),
     ("Thu, 01 Jan 1970 00:00:00 GMT", 0)],
)  # fmt: skip
def test_retry_after_is_understood(value: str, retry_after_ms: int | None) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 503, Retry_After=value)
        assert (await fail(client, http_run(site.url()))).retry_after_ms == retry_after_ms

    play(scenario)


@pytest.mark.parametrize(
    "value",
    ["Thu, 31 Dec 2026 00:00:00 +9999999999999999999", "Thu, 31 Dec 2026 00:00:9999999999999 GMT"],
)
def test_a_date_that_no_machine_can_count_is_none(value: str) -> None:
    assert retry_after_ms(value, 0) is None


def test_retry_after_may_be_a_date() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 429, Retry_After="Fri, 31 Dec 2100 23:59:59 GMT")
        waits_ms = (await fail(client, http_run(site.url()))).retry_after_ms
        assert waits_ms is not None
        assert waits_ms > 365 * 86_400_000

    play(scenario)


def test_a_long_body_is_kept_in_part() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 200, b"x" * (MAX_BODY_BYTES + 1))
        result = await succeed(client, http_run(site.url()))
        assert result["truncated"]
        assert result["body"] == "x" * MAX_BODY_BYTES

    play(scenario)


@pytest.mark.parametrize(
    "body", [b"\x01" * MAX_BODY_BYTES, b'"\\' * MAX_BODY_BYTES, "é".encode() * 40_000]
)
def test_a_result_is_never_over_the_limit_however_it_is_escaped(body: bytes) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 200, body, **{f"X_{n}": "v" * 400 for n in range(60)})
        success = await client.execute(http_run(site.url()), CONTEXT)
        assert success.result is not None
        assert len(success.result) <= RESULT_BYTES
        assert json.loads(success.result)["truncated"]

    play(scenario)


def test_a_body_that_is_no_text_is_kept_as_base64() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 200, b"\xff\x00")
        result = await succeed(client, http_run(site.url()))
        assert base64.b64decode(result["body_base64"]) == b"\xff\x00"

    play(scenario)


@pytest.mark.parametrize(
    ("charset", "body"),
    [
        ("undefined", b"hi"),
        ("unicode_escape", rb"\ud800"),
        ("utf-7", b"+2AA-"),
        ("utf-8\0", b"hi"),
        ("zlib", b"hi"),
        ("idna", b"xn--\xff"),
    ],
)
def test_b129_whatever_charset_a_target_claims_its_answer_is_kept(
    charset: str, body: bytes
) -> None:
    kept = json.loads(result(200, {}, body, charset))
    assert base64.b64decode(kept["body_base64"]) == body


@given(charset=st.sampled_from(sorted(set(aliases.values()))), body=st.binary(max_size=40))
def test_b129_no_text_of_any_charset_breaks_the_result(charset: str, body: bytes) -> None:
    assert json.loads(result(200, {}, body, charset))["status"] == 200


def test_a_body_in_an_unheard_of_charset_is_kept_as_base64() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 200, b"abc", Content_Type="text/plain; charset=klingon")
        result = await succeed(client, http_run(site.url()))
        assert base64.b64decode(result["body_base64"]) == b"abc"

    play(scenario)


def test_history_keeps_the_answer_of_a_failure_too() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 422, b'{"field": "amount"}', X_Request_Id="r-1")
        failed = await failure(client, http_run(site.url()))
        assert failed.result is not None
        kept = json.loads(failed.result)
        assert (kept["status"], kept["body"]) == (422, '{"field": "amount"}')
        assert kept["headers"]["x-request-id"] == "r-1"

    play(scenario)


@pytest.mark.parametrize(
    ("retry_on", "status", "permanent"),
    [
        ([409, "500-502"], 409, False),
        ([409, "500-502"], 502, False),
        ([409, "500-502"], 503, True),
        ([409], 429, True),
        ([], 500, True),
        (["400-599"], 404, False),
    ],
)
def test_b123_the_job_says_which_statuses_another_attempt_may_cure(
    retry_on: list[object], status: int, permanent: bool
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", status, Retry_After="7")
        error = await fail(client, http_run(site.url(), retry_on=retry_on))
        assert (error.code, error.permanent) == ("http_status", permanent)
        assert error.retry_after_ms == (None if permanent else 7_000)

    play(scenario)


@pytest.mark.parametrize(
    ("status", "completion", "deferred"),
    [(202, "later", True), (202, " Later ", True), (202, "now", False), (200, "later", False)],
)
def test_a_target_may_take_the_work_over_and_complete_the_run_later(
    status: int, completion: str, deferred: bool
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", status, b"queued as 7", Tocsin_Completion=completion)
        answer = await client.execute(http_run(site.url()), CONTEXT)
        assert isinstance(answer, Deferred if deferred else Success)
        assert b"queued as 7" in (answer.result or b"")

    play(scenario)


def test_a_status_that_is_not_expected_defers_nothing() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 202, Tocsin_Completion="later")
        error = await fail(client, http_run(site.url(), expect=[200]))
        assert "answered 202" in error.message

    play(scenario)


@pytest.mark.parametrize("status", [200, 500])
def test_b170_script_in_an_answer_is_kept_as_the_text_that_it_is(status: int) -> None:
    script = "<img src=x onerror=alert(1)>"

    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", status, script.encode(), Content_Type="text/html", X_Script=script)
        if status == 200:
            kept = await succeed(client, http_run(site.url()))
        else:
            failed = await failure(client, http_run(site.url()))
            assert failed.error.message.endswith(script)
            kept = json.loads(failed.result or b"")
        assert (kept["body"], kept["headers"]["x-script"]) == (script, script)

    play(scenario)
