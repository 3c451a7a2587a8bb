"""`tocsin events`: a line for each, for people or for programs."""

import json
from typing import Any

import httpx
import pytest

from tests.cli.conftest import Tocsin
from tocsin.client import Client
from tocsin_cli.completions import event_types

STREAM = (
    "id: p1\nevent: dead\ndata: "
    '{"type":"dead","time":"2026-01-01T00:00:00.000Z","tenant":"default","job_id":"j",'
    '"run_id":"default.j.20260101T000000.000Z","attempt":5,"reason":"attempts used up","count":1}'
    "\n\nid: p2\nevent: failed\ndata: "
    '{"type":"failed","time":"2026-01-01T00:00:01.000Z","tenant":"default","job_id":"j",'
    '"run_id":"default.j.20260101T000100.000Z","attempt":1,"worker":"w",'
    '"error":{"code":"connect","message":"refused"}}\n\n'
    "id: p3\nevent: missed\ndata: "
    '{"type":"missed","time":"2026-01-01T00:00:02.000Z","tenant":"default","job_id":"j",'
    '"reason":"catch_up: latest","count":1200}\n\n'
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[httpx.URL]:
    """What a gateway was asked that tells three events; then the user presses Ctrl-C."""
    urls: list[httpx.URL] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(request.url)
        if len(urls) > 1:
            raise KeyboardInterrupt
        return httpx.Response(200, text=STREAM)

    def client(url: str, **options: Any) -> Client:
        return Client(url, transport=httpx.MockTransport(answer), **options)

    monkeypatch.setattr("tocsin.client.Client", client)
    return urls


def test_people_read_what_happened_to_what_and_why(tocsin: Tocsin, asked: list[httpx.URL]) -> None:
    said = tocsin("events", "j", "--type", "dead", "--type", "failed")
    dead, failed, missed = said.out.splitlines()

    assert said.code == 130
    assert dead.endswith("  default.j.20260101T000000.000Z  attempt 5  attempts used up")
    assert failed.endswith("  attempt 1  connect, refused")
    assert missed.endswith("  missed           j  1,200 occurrences  catch_up: latest")
    assert asked[0].params.get_list("type") == ["dead", "failed"]


def test_programs_read_a_line_of_json_each_with_its_id(
    tocsin: Tocsin, asked: list[httpx.URL]
) -> None:
    lines = [json.loads(line) for line in tocsin("events", "--output", "json").out.splitlines()]

    assert [line["id"] for line in lines] == ["p1", "p2", "p3"]
    assert lines[1]["error"] == {"code": "connect", "message": "refused"}
    assert "attempt" not in lines[2]
    assert asked


def test_a_type_that_is_none_is_refused_with_those_that_are(tocsin: Tocsin) -> None:
    said = tocsin("events", "--type", "exploded")

    assert said.code == 2
    assert "write one of accepted, rejected" in said.err
    assert event_types("s") == ["skipped", "started", "succeeded"]
