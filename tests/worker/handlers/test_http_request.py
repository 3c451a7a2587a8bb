"""What a run becomes as a request of handler `http`."""

import base64
import json

import msgspec
import pytest

from tests.worker.handlers.http_support import (
    fail,
    http_run,
    play,
    sent,
)
from tests.worker.handlers.server import Server
from tocsin.model.limits import MAX_PAYLOAD_BYTES
from tocsin_worker.handlers.http.handler import HttpHandler


def test_the_payload_is_posted_as_json() -> None:
    request = sent(lambda url: http_run(url, {"format": "pdf"}))
    assert (request.method, request.path) == ("POST", "/hook")
    assert json.loads(request.body) == {"format": "pdf"}
    assert request.headers["Content-Type"] == "application/json"


def test_no_payload_is_no_body() -> None:
    for payload in (None, b" null "):
        request = sent(lambda url, payload=payload: http_run(url, payload))  # type: ignore[misc]
        assert request.body == b""
        assert "Content-Type" not in request.headers


@pytest.mark.parametrize(
    ("payload", "content_type", "body"),
    [
        ("Grüße", "text/plain; charset=utf-8", "Grüße".encode()),
        ("a,b", "text/csv", b"a,b"),
        ("text", "application/json", b'"text"'),
        ("text", "application/vnd.api+json", b'"text"'),
        ({"a": 1}, "text/plain", b'{"a": 1}'),
    ],
)
def test_a_string_is_text_under_a_content_type_that_is_not_json(
    payload: object, content_type: str, body: bytes
) -> None:
    headers = {"content-type": content_type}
    request = sent(lambda url: http_run(url, payload, headers=headers))
    assert request.body == body
    assert request.headers["Content-Type"] == content_type


def test_base64_is_sent_as_the_bytes_it_stands_for() -> None:
    payload = base64.b64encode(b"\x00\xff").decode()
    request = sent(lambda url: http_run(url, payload, payload_encoding="base64"))
    assert request.body == b"\x00\xff"
    assert request.headers["Content-Type"] == "application/octet-stream"


def test_headers_say_which_run_and_attempt_it_is() -> None:
    run = sent(lambda url: msgspec.structs.replace(http_run(url), attempt=3))
    expected = {
        "Idempotency-Key": "acme.job.20260101T000000.000Z",
        "webhook-id": "acme.job.20260101T000000.000Z",
        "Tocsin-Job-Id": "job",
        "Tocsin-Tenant": "acme",
        "Tocsin-Scheduled-Time": "2026-01-01T00:00:00.000Z",
        "Tocsin-Attempt": "3",
    }
    assert expected.items() <= run.headers.items()


def test_attempts_share_a_trace_and_have_spans_of_their_own() -> None:
    first, second = (
        sent(lambda url, n=n: msgspec.structs.replace(http_run(url), attempt=n)).headers  # type: ignore[misc]
        for n in (1, 2)
    )
    version, trace, span, flags = first["traceparent"].split("-")
    assert (version, len(trace), len(span), flags) == ("00", 32, 16, "01")
    assert second["traceparent"].split("-")[1] == trace
    assert second["traceparent"].split("-")[2] != span


def test_a_job_cannot_pass_its_run_off_as_another() -> None:
    headers = {"tocsin-tenant": "victim", "X-Kind": "daily"}
    request = sent(lambda url: http_run(url, headers=headers))
    assert request.headers["Tocsin-Tenant"] == "acme"
    assert request.headers["X-Kind"] == "daily"


@pytest.mark.parametrize("payload", ["%%%", {"not": "text"}, b'"a\\ud800b"'])
def test_a_payload_that_does_not_fit_its_encoding_is_a_permanent_failure(payload: object) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url(), payload, payload_encoding="base64"))
        assert (error.code, error.permanent) == ("invalid", True)

    play(scenario)


@pytest.mark.parametrize(
    "config",
    [
        {"headers": {"X": "a\r\nInjected: 1"}},
        {"headers": {"X\r\nInjected": "1"}},
        {"method": "GET / HTTP/1.1\r\nX"},
        {"url": "file:///etc/passwd"},
        {"url": "http://"},
        {"url": "http://user:password@h/"},
        {"url": "http://127.0.0.1/\r\nX: 1"},
        {"expect": ["2xx"]},
        {"auth": {}},
        {"auth": {"bearer": "a", "basic": {"username": "u", "password": "p"}}},
        {"payload_encoding": "rot13"},
        {"retries": 3},
    ],
)
def test_b136_a_wrong_configuration_is_a_permanent_failure_and_nothing_is_sent(
    config: dict[str, object],
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        given = {"url": site.url(), **config}
        error = await fail(client, http_run(**given))  # type: ignore[arg-type]
        assert (error.code, error.permanent) == ("invalid", True)
        assert site.received == []

    play(scenario)


@pytest.mark.parametrize(
    "text",
    ["Grüße 😀", "שלום", "e\u0301", "\u202e reversed", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "<img src=x onerror=alert(1)>"],
)
def test_b129_text_of_any_script_reaches_the_target_byte_for_byte(text: str) -> None:
    payload = json.dumps({"text": text}, ensure_ascii=False).encode()
    assert sent(lambda url: http_run(url, payload)).body == payload
    headers = {"content-type": "text/plain; charset=utf-8"}
    assert sent(lambda url: http_run(url, text, headers=headers)).body == text.encode()


def test_b139_a_payload_of_the_largest_size_arrives_whole() -> None:
    payload = json.dumps("x" * (MAX_PAYLOAD_BYTES - 2)).encode()
    assert sent(lambda url: http_run(url, payload)).body == payload


@pytest.mark.parametrize(
    ("instant", "told"),
    [
        (1_767_225_600_999, "2026-01-01T00:00:00.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
    ],
)
def test_b134_the_target_is_told_the_scheduled_time_to_the_millisecond(
    instant: int, told: str
) -> None:
    request = sent(lambda url: msgspec.structs.replace(http_run(url), scheduled_time=instant))
    assert request.headers["Tocsin-Scheduled-Time"] == told
