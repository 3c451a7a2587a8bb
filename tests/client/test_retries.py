"""The client tries again what may stand twice, and nothing else."""

from typing import Any

import httpx
import pytest

from tocsin.client import (
    Client,
    Conflict,
    NotFound,
    TocsinError,
    Unavailable,
    Unreachable,
    exchange,
)

PROBLEM = {"title": "Kafka did not acknowledge in time", "status": 503, "detail": "again, please"}
PREVIEW = {"description": "x", "occurrences": []}


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_FIRST_PAUSE_S", 0.0)


def client_of(answers: list[Any]) -> tuple[Client, list[httpx.Request]]:
    """A client that meets these answers or errors one after another, and what it has sent."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        next_answer = answers.pop(0)
        if isinstance(next_answer, Exception):
            raise next_answer
        if isinstance(next_answer, httpx.Response):
            return next_answer
        status, body = next_answer
        return httpx.Response(status, json=body)

    return Client("http://gateway", transport=httpx.MockTransport(answer)), sent


RUN = {
    "run_id": "default.j.20260101T000000.000Z-m00000000",
    "tenant": "default",
    "job_id": "j",
    "status": "pending",
    "scheduled_time": "2026-01-01T00:00:00.000Z",
}
IN_FLIGHT = (409, {"type": "/problems/in-flight", "detail": "the first is under way"})
BUSY = (503, PROBLEM)
LOST = httpx.ReadError("connection lost")
REFUSED = httpx.ConnectError("refused")


@pytest.mark.parametrize("failure", [BUSY, LOST, REFUSED, (502, {})])
def test_a_read_is_tried_again(failure: Any) -> None:
    client, sent = client_of([failure, failure, (200, PREVIEW)])

    assert client.preview("j").description == "x"
    assert len(sent) == 3


def test_what_fails_to_the_end_is_told() -> None:
    client, sent = client_of([BUSY] * 4)
    with pytest.raises(Unavailable, match="again, please"):
        client.get("j")
    assert len(sent) == 4

    client, _ = client_of([LOST] * 4)
    with pytest.raises(Unreachable, match="is the gateway running"):
        client.get("j")


@pytest.mark.parametrize("failure", [BUSY, LOST, IN_FLIGHT])
def test_a_trigger_is_repeated_under_the_key_of_the_first(failure: Any) -> None:
    """It may have taken effect: the gateway answers what it has answered before."""
    client, sent = client_of([failure, failure, (202, RUN)])

    assert client.trigger("j").run_id == RUN["run_id"]
    keys = [request.headers["Idempotency-Key"] for request in sent]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    client, another = client_of([(202, RUN)])
    client.trigger("j")
    assert another[0].headers["Idempotency-Key"] != keys[0]


HALTED = (503, {**PROBLEM, "type": "/problems/not-durable", "detail": "1 of 3 are done", "done": 1})


@pytest.mark.parametrize("failure", [LOST, httpx.ReadTimeout("timed out"), HALTED, (502, {})])
@pytest.mark.parametrize("name", ["bulk_jobs", "bulk_runs", "create_token"])
def test_of_what_the_gateway_keeps_no_answer_is_asked_once(name: str, failure: Any) -> None:
    """A second try would be refused, and its refusal hide what the first has done."""
    client, sent = client_of([failure, (409, {"type": "/problems/count", "detail": "not 3"})])
    with pytest.raises((Unavailable, Unreachable)) as caught:
        ask_once(client, name)

    assert len(sent) == 1
    assert "Idempotency-Key" not in sent[0].headers
    if failure is HALTED:
        assert isinstance(caught.value, Unavailable)
        assert (caught.value.done, "1 of 3 are done" in str(caught.value)) == (1, True)
    if isinstance(failure, httpx.TransportError):
        assert "is not known" in str(caught.value)


@pytest.mark.parametrize("failure", [REFUSED, (429, {}), (503, {"type": "/problems/not-ready"})])
@pytest.mark.parametrize("name", ["bulk_jobs", "bulk_runs", "create_token"])
def test_it_is_asked_again_where_nothing_was_done(name: str, failure: Any) -> None:
    client, sent = client_of([failure, (404, {"detail": "no"})])
    with pytest.raises(NotFound):
        ask_once(client, name)
    assert len(sent) == 2


def test_counting_is_tried_again() -> None:
    client, _ = client_of([LOST, (200, {"matched": 3})])

    assert client.bulk_jobs("pause", {}).matched == 3


def ask_once(client: Client, name: str) -> object:
    match name:
        case "bulk_jobs":
            return client.bulk_jobs("pause", {}, expect=3)
        case "bulk_runs":
            return client.bulk_runs("cancel", {}, expect=3)
    return client.create_token("ci", "viewer")


def test_what_exists_or_has_ended_is_not_in_flight() -> None:
    client, sent = client_of([(409, {"type": "/problems/exists", "detail": "the job exists"})])
    with pytest.raises(Conflict, match="exists"):
        client.create({})
    assert len(sent) == 1


def test_a_gateway_that_asks_for_patience_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    client, _ = client_of([httpx.Response(503, headers={"Retry-After": "2"}), (200, PREVIEW)])
    client.preview("j")

    assert slept == [2.0]


@pytest.mark.parametrize("failure", [REFUSED, (503, {"type": "/problems/not-ready"})])
def test_what_had_no_effect_is_sent_again(failure: Any) -> None:
    client, sent = client_of([failure, (404, {"detail": "no"})])
    with pytest.raises(NotFound):
        client.trigger("j")
    assert len(sent) == 2


@pytest.mark.parametrize("failure", [BUSY, LOST])
def test_a_conditional_write_carries_a_key_and_a_plain_one_needs_none(failure: Any) -> None:
    """The first may have taken effect: without the key the second would meet it as a conflict."""
    client, sent = client_of([failure, (412, {"detail": "no"}), (404, {"detail": "no"})])
    with pytest.raises(Conflict):
        client.put("j", if_revision=3)
    with pytest.raises(NotFound):
        client.put("j")

    assert ["Idempotency-Key" in request.headers for request in sent] == [True, True, False]


def test_what_a_lost_delete_has_deleted_is_deleted() -> None:
    client, _ = client_of([LOST, (404, {"detail": "no"})])
    client.delete("j")

    client, _ = client_of([(404, {"detail": "no"})])
    with pytest.raises(NotFound):
        client.delete("j")


@pytest.mark.parametrize(
    ("status", "body"), [(200, {}), (200, []), (200, {"items": [{}]}), (404, "nothing"), (301, {})]
)
def test_another_server_at_the_address_is_told(status: int, body: Any) -> None:
    client, _ = client_of([(status, body)])
    with pytest.raises(TocsinError):
        list(client.list())


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://tocsin.example", "tocsin.example:443 "),
        ("http://tocsin.example", "tocsin.example:80 "),
        ("https://tocsin.example:8443/base", "tocsin.example:8443 "),
    ],
)
def test_who_does_not_answer_is_named_with_the_port(url: str, place: str) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with (
        Client(url, transport=httpx.MockTransport(refuse), retries=0) as client,
        pytest.raises(Unreachable, match=f"^{place}does not answer"),
    ):
        client.get("j")


@pytest.mark.parametrize("answer", [httpx.Response(502), httpx.Response(200, text="<html>")])
def test_a_password_in_the_address_is_not_told(answer: httpx.Response) -> None:
    transport = httpx.MockTransport(lambda _: answer)
    with (
        Client("https://me:hunter2@tocsin.example", transport=transport, retries=0) as client,
        pytest.raises(TocsinError, match=r"https://tocsin\.example/v1/jobs/j") as caught,
    ):
        client.get("j")

    assert "hunter2" not in str(caught.value)
