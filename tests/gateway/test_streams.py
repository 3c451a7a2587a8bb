"""Streams of events: when they end, whom they hold up, and how many there may be."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Event as Flag
from typing import Any

import httpx
import msgspec
import pytest
from sqlalchemy.exc import OperationalError

from tests.gateway.fake_issuer import OPTIONS, World
from tests.gateway.harness import PATIENT, Harness
from tests.gateway.serving import serving
from tests.gateway.test_events import place, some_run, tell
from tocsin_gateway import gateway
from tocsin_gateway.access.issuer import Issuer
from tocsin_gateway.access.tokens import revoked
from tocsin_gateway.api import event_stream, events
from tocsin_gateway.api.event_stream import HEARTBEAT_MS
from tocsin_gateway.projection import outcome_tail
from tocsin_gateway.projection.event_feed import EventBatch, EventFeed, Place
from tocsin_gateway.projection.outcome_tail import OutcomeLog


def test_streams_end_when_the_gateway_stops(harness: Harness) -> None:
    streams = harness.gateway.streams
    harness.listen("/v1/events", lambda text: "id: " in text and streams.count == 1)
    assert streams.count == 0
    streams.closing = True

    assert harness.http.get("/v1/events").status_code == 200


def test_a_database_that_fails_ends_a_stream(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader comes back behind the last place; nothing is a defect of the gateway."""

    def fail(*_: object) -> None:
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr(EventFeed, "after", fail)

    assert harness.http.get("/v1/events").status_code == 200


def test_streams_that_wait_hold_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More of them than there are threads for requests."""
    go_on = Flag()

    def wait(_: EventFeed, place: Place, __: object) -> EventBatch:
        go_on.wait(60)
        return EventBatch(told=(), place=place)

    monkeypatch.setattr(EventFeed, "after", wait)
    with Harness(tmp_path) as harness, serving(harness.gateway.app) as url, ExitStack() as stack:
        http = stack.enter_context(httpx.Client(base_url=url, timeout=20))
        for _ in range(50):
            stream = stack.enter_context(http.stream("GET", "/v1/events"))
            assert next(stream.iter_lines()).startswith("retry")
        try:
            assert http.get("/v1/stats").status_code == 200
        finally:
            harness.gateway.streams.closing = True
            go_on.set()


def test_streams_that_read_from_kafka_hold_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = Flag()

    def wait(*_: object) -> None:
        go_on.wait(60)
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr(outcome_tail, "MOST_OF_PARTITION", 1)
    monkeypatch.setattr(OutcomeLog, "read", wait)
    with Harness(tmp_path) as harness, ExitStack() as stack:
        long_ago = {"Last-Event-ID": place(harness)}
        for second in range(3):
            harness.scheduler.report(some_run(harness, second=second), "succeeded")
        harness.settle()
        url = stack.enter_context(serving(harness.gateway.app))
        http = stack.enter_context(httpx.Client(base_url=url, timeout=20))
        for _ in range(20):
            far = stack.enter_context(http.stream("GET", "/v1/events", headers=long_ago))
            assert next(far.iter_lines()).startswith("retry")
        lines = stack.enter_context(http.stream("GET", "/v1/events")).iter_lines()
        assert next(lines).startswith("retry")
        tell(harness, "now")
        harness.settle()
        try:
            assert any('"reason":"now"' in line for line in lines)
        finally:
            harness.gateway.streams.closing = True
            go_on.set()


def hurried(monkeypatch: pytest.MonkeyPatch, harness: Harness, then: Callable[[], None]) -> None:
    """With each look of a stream a sign of life is due, and `then` is done."""
    after = EventFeed.after

    def pass_time(self: EventFeed, *asked: Any) -> EventBatch:
        harness.cluster.clock.advance(HEARTBEAT_MS)
        then()
        return after(self, *asked)

    monkeypatch.setattr(EventFeed, "after", pass_time)
    monkeypatch.setattr(event_stream, "_LOOK_S", 0.01)


def test_a_stream_ends_with_its_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Harness(tmp_path) as harness:
        body = {"name": "ci", "role": "viewer", "expires_time": "2026-01-01T00:01:00Z"}
        secret = harness.http.post("/v1/tokens", json=body).json()["token"]
        hurried(monkeypatch, harness, lambda: None)
        bearer = {"Authorization": f"Bearer {secret}"}
        text = harness.http.get("/v1/events", headers=bearer).text

    assert 2 <= text.count("id: ") <= 6


def test_a_stream_ends_when_the_token_of_an_issuer_expires(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a minute of leeway, then at the next sign of life; nothing is told after that."""
    world = World()
    monkeypatch.setattr(gateway, "Issuer", partial(Issuer, transport=world.fake))
    with Harness(tmp_path, msgspec.structs.replace(PATIENT, issuer=OPTIONS)) as harness:
        soon = harness.cluster.clock.now_ms() // 1000 + 20
        bearer = {"Authorization": f"Bearer {world.token(exp=soon, tocsin_tenant='default')}"}
        hurried(monkeypatch, harness, lambda: tell(harness, "said"))
        text = harness.http.get("/v1/events", headers=bearer).text
        again = harness.http.get("/v1/events", headers=bearer)

    assert 2 <= text.count("event: ") <= 4
    assert again.status_code == 401


def test_a_stream_ends_when_its_token_is_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Harness(tmp_path) as harness:
        secret = harness.http.post("/v1/tokens", json={"name": "ci", "role": "viewer"}).json()
        tokens = harness.gateway.tokens

        def revoke() -> None:
            ((digest, token),) = tokens.tokens()
            tokens.put(digest, revoked(token, 1), 1_000)

        hurried(monkeypatch, harness, revoke)
        bearer = {"Authorization": f"Bearer {secret['token']}"}
        text = harness.http.get("/v1/events", headers=bearer).text

    assert text.count("id: ") == 2


def test_one_tenant_cannot_take_all_streams(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_MOST_OF_TENANT", 1)
    harness.gateway.streams.closing = True
    with harness.gateway.streams.opened("default"):
        refused = harness.http.get("/v1/events")
        others = harness.http.get("/v1/events", headers={"Tocsin-Tenant": "acme"})

    assert (refused.status_code, others.status_code) == (429, 200)
    assert refused.json()["type"] == "/problems/too-many-streams"
    assert int(refused.headers["Retry-After"]) >= 1
    assert harness.http.get("/v1/events").status_code == 200


def test_a_gateway_without_a_stream_left_says_that_it_is_its_own_limit(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_MOST_STREAMS", 1)
    with harness.gateway.streams.opened("acme"):
        refused = harness.http.get("/v1/events")

    assert (refused.status_code, refused.json()["type"]) == (503, "/problems/streams-full")
    assert int(refused.headers["Retry-After"]) >= 1
