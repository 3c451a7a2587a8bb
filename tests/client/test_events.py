"""Events heard over connections that break: each once, in order."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import httpx
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tests.gateway.serving import serving
from tocsin.client import (
    AsyncClient,
    Client,
    LiveEvent,
    NotAllowed,
    Unavailable,
    Unreachable,
    exchange,
)
from tocsin.model.keys import JobKey
from tocsin.model.runs import OutcomeKind

EVENT = (
    'id: {0}\nevent: dead\ndata: {{"type":"dead","time":"2026-01-01T00:00:00.000Z",'
    '"tenant":"default","job_id":"j","reason":"{0}","count":1}}\n\n'
)
SILENCE = "retry: 2000\n:\nid: begin\n\n"


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Some of an answer, then the connection is lost."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("connection lost")


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_FIRST_PAUSE_S", 0.0)


def client_of(
    *answers: httpx.Response | httpx.TransportError,
) -> tuple[Client, list[httpx.Request]]:
    """A client that meets these answers one after another, and what it has sent."""
    sent: list[httpx.Request] = []
    left = list(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        following = left.pop(0)
        if isinstance(following, httpx.TransportError):
            raise following
        return following

    return Client("http://gateway", transport=httpx.MockTransport(answer)), sent


def test_a_broken_stream_goes_on_behind_what_was_heard() -> None:
    client, sent = client_of(
        httpx.Response(200, text=SILENCE + EVENT.format("one")),
        httpx.Response(200, stream=Broken(EVENT.format("two") + "id: half\ndata: {")),
        httpx.ConnectError("refused"),
        httpx.Response(503, json={"status": 503}),
        httpx.Response(200, text=EVENT.format("three")),
    )
    heard = list(islice(client.events("j", types=["dead", "missed"]), 3))

    assert [event.reason for event in heard] == ["one", "two", "three"]
    assert [event.id for event in heard] == ["one", "two", "three"]
    assert [request.headers.get("Last-Event-ID") for request in sent] == [
        None,
        "one",
        "two",
        "two",
        "two",
    ]
    assert sent[0].url.params.multi_items() == [
        ("job_id", "j"),
        ("type", "dead"),
        ("type", "missed"),
    ]


def test_a_sign_of_life_moves_the_place() -> None:
    client, sent = client_of(
        httpx.Response(200, text=SILENCE), httpx.Response(200, text=EVENT.format("one"))
    )
    next(client.events(after="earlier"))

    assert [request.headers["Last-Event-ID"] for request in sent] == ["earlier", "begin"]


def test_what_does_not_pass_is_raised() -> None:
    refused, _ = client_of(httpx.Response(401, json={"status": 401, "detail": "who are you?"}))
    away, _ = client_of(*[httpx.ConnectError("refused")] * 4)
    busy, sent = client_of(*[httpx.Response(503, json={"status": 503})] * 4)
    stranger, _ = client_of(httpx.Response(200, text="data: hello\n\n"))

    with pytest.raises(NotAllowed, match="who are you"):
        next(refused.events())
    with pytest.raises(Unreachable, match="does not answer"):
        next(away.events())
    with pytest.raises(Unavailable):
        next(busy.events())
    with pytest.raises(Unreachable, match="no event"):
        next(stranger.events())
    assert len(sent) == 4


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with Harness(tmp_path) as made:
        yield made


def test_both_clients_hear_what_a_gateway_tells(harness: Harness) -> None:
    """Over a real connection, from an id on that was heard before."""
    assert harness.http.put("/v1/jobs/j", json=job()).status_code == 201
    seen = harness.listen("/v1/events", lambda text: "id: " in text)
    place = seen.rpartition("id: ")[2].strip()
    run = harness.scheduler.run_of(JobKey("default", "j"), harness.cluster.clock.now_ms())
    kinds: tuple[OutcomeKind, ...] = ("started", "succeeded")
    for kind in kinds:
        harness.scheduler.report(run, kind)
    harness.settle()

    async def heard(url: str) -> list[LiveEvent]:
        async with AsyncClient(url) as tocsin:
            events = tocsin.events("j", after=place)
            return [await anext(events), await anext(events)]

    with serving(harness.gateway.app) as url:
        with Client(url) as tocsin:
            found = list(islice(tocsin.events("j", after=place), 2))
        again = asyncio.run(heard(url))
        harness.gateway.streams.closing = True

    assert [(event.type, event.run_id) for event in found] == [
        ("started", run.run_id),
        ("succeeded", run.run_id),
    ]
    assert again == found
