"""Two gateways over one log: whoever asks which, a command counts once."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest

from tests.integration.gateway_process import PATIENCE, GatewayProcess
from tests.integration.scheduler_process import SchedulerProcess
from tests.integration.test_gateway import make_topics, until
from tocsin.broker.local import BrokerAddress
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

ROUNDS = 5
JOB = {
    "schedule": {"cron": "0 0 1 1 *"},
    "handler": {"type": "noop"},
    "overlap": "allow_all",
}


@pytest.fixture
def topics(broker: BrokerAddress, prefix: str) -> Topics:
    return make_topics(broker.bootstrap, prefix)


@pytest.fixture
def gateways(
    broker: BrokerAddress, topics: Topics, tmp_path: Path
) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Two, each with a read model of its own."""
    assert "TOCSIN_API_TOKEN" not in os.environ
    with ExitStack() as stack:
        processes = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            settings = {"BROKERS": broker.bootstrap, "PREFIX": topics.prefix}
            processes.append(stack.enter_context(GatewayProcess(tmp_path / name, settings)))
        urls = [process.url() for process in processes]
        one, two = (
            stack.enter_context(httpx.Client(base_url=url, timeout=PATIENCE)) for url in urls
        )
        for http in (one, two):
            until(lambda http=http: http.get("/healthz/ready").is_success)  # type: ignore[misc]
        yield one, two


def at_once(
    gateways: tuple[httpx.Client, httpx.Client], method: str, path: str, **asked: Any
) -> list[httpx.Response]:
    """The answers of both gateways to the same request, sent to each twice at the same time; who
    is told that it is under way asks again."""

    def patiently(http: httpx.Client) -> httpx.Response:
        while True:
            answer = http.request(method, path, **asked)
            if answer.status_code != 409 or "in-flight" not in answer.text:
                return answer

    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(patiently, [*gateways, *gateways]))


def test_one_request_creates_one_job(gateways: tuple[httpx.Client, httpx.Client]) -> None:
    for number in range(ROUNDS):
        key = {"Idempotency-Key": f"create-{number}"}
        answers = at_once(gateways, "POST", "/v1/jobs", json=JOB, headers=key)

        assert {answer.status_code for answer in answers} == {201}
        assert len({answer.json()["job_id"] for answer in answers}) == 1
        assert len({answer.headers["ETag"] for answer in answers}) == 1
        replayed = [answer for answer in answers if "Idempotency-Replayed" in answer.headers]
        assert len(replayed) == len(answers) - 1
    until(lambda: len(gateways[1].get("/v1/jobs").json()["items"]) == ROUNDS)


def test_one_request_changes_a_job_once(gateways: tuple[httpx.Client, httpx.Client]) -> None:
    one, two = gateways
    one.put("/v1/jobs/a", json=JOB)
    until(lambda: two.get("/v1/jobs/a").is_success)
    for number in range(ROUNDS):
        body, key = {"owner": f"owner {number}"}, {"Idempotency-Key": f"patch-{number}"}
        answers = at_once(gateways, "PATCH", "/v1/jobs/a", json=body, headers=key)

        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.headers["ETag"] for answer in answers}) == 1


def test_one_request_runs_a_job_once(
    gateways: tuple[httpx.Client, httpx.Client],
    broker: BrokerAddress,
    topics: Topics,
    tmp_path: Path,
) -> None:
    one, two = gateways
    one.put("/v1/jobs/a", json=JOB)
    until(lambda: two.get("/v1/jobs/a").is_success)
    with SchedulerProcess(broker.bootstrap, topics.prefix, tmp_path / "scheduler") as scheduler:
        scheduler.await_owned(2)
        for number in range(ROUNDS):
            key = {"Idempotency-Key": f"trigger-{number}"}
            answers = at_once(gateways, "POST", "/v1/jobs/a/trigger", headers=key)
            assert {answer.status_code for answer in answers} == {202}
            assert len({answer.json()["run_id"] for answer in answers}) == 1
        until(lambda: len(runs(one)) >= ROUNDS)
        assert scheduler.stop() == 0
    assert len(runs(one)) == ROUNDS


def runs(http: httpx.Client) -> list[object]:
    found: list[object] = http.get("/v1/jobs/a/runs").json()["items"]
    return found


def test_of_two_creations_one_wins(gateways: tuple[httpx.Client, httpx.Client]) -> None:
    for number in range(ROUNDS):
        path, absent = f"/v1/jobs/new-{number}", {"If-None-Match": "*"}
        answers = at_once(gateways, "PUT", path, json=JOB, headers=absent)

        assert sorted(answer.status_code for answer in answers) == [201, 412, 412, 412]


@pytest.mark.parametrize(
    "methods", [("PUT", "PUT"), ("PATCH", "PATCH"), ("PUT", "PATCH"), ("DELETE", "PUT")]
)
def test_of_two_writes_on_top_of_one_revision_one_wins(
    gateways: tuple[httpx.Client, httpx.Client], methods: tuple[str, str]
) -> None:
    """Each gateway has seen the same revision; the log decides which write comes first."""
    for number in range(ROUNDS):
        path = f"/v1/jobs/raced-{number}"
        tag = gateways[0].put(path, json=JOB).headers["ETag"]
        until(partial(_is_at, gateways[1], path, tag))
        barrier = Barrier(2)
        race = partial(_write, path=path, tag=tag, barrier=barrier)
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(race, gateways, methods, ("one", "two")))

        assert sorted(answer.is_success for answer in answers) == [False, True]
        winner, loser = sorted(answers, key=lambda answer: answer.status_code)
        assert loser.status_code == 412
        for http in gateways:
            until(partial(_is_at, http, path, winner.headers.get("ETag")))


def _write(
    http: httpx.Client, method: str, owner: str, path: str, tag: str, barrier: Barrier
) -> httpx.Response:
    """A write on top of that revision, together with another."""
    body = {"PUT": {**JOB, "owner": owner}, "PATCH": {"owner": owner}}.get(method)
    asked: dict[str, Any] = {} if body is None else {"json": body}
    barrier.wait(PATIENCE)
    return http.request(method, path, headers={"If-Match": tag}, **asked)


def _is_at(http: httpx.Client, path: str, tag: str | None) -> bool:
    """Whether the gateway tells of that revision of the job; None = of no job."""
    answer = http.get(path)
    return answer.status_code == 404 if tag is None else answer.headers.get("ETag") == tag
