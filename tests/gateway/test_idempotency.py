"""A request with an Idempotency-Key is carried out once, whoever sends it however often."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PARTITIONS, Harness

KEY = {"Idempotency-Key": "order-4711"}
DAY_MS = 86_400_000
HOUR_MS = 3_600_000
JANUARY = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-04T00:00:00Z"}


@pytest.fixture
def with_job(http: httpx.Client) -> httpx.Client:
    """A gateway that has the job a."""
    http.put("/v1/jobs/a", json=job())
    return http


def told(answer: httpx.Response) -> dict[str, Any]:
    """The answer without how far a backfill has come in the meantime."""
    document: dict[str, Any] = answer.json()
    return document if "slots" not in document else {**document, "status": "", "started_time": ""}


def written(harness: Harness) -> int:
    """How many commands the log has: job commands that are no restatements, and signals."""
    topics = harness.topics
    records = [
        record
        for topic in (topics.jobs, topics.signals)
        for partition in range(PARTITIONS)
        for record in harness.cluster.records(topic, partition)
    ]
    return sum(not any(name == "tocsin-restates" for name, _ in r.headers) for r in records)


COMMANDS: list[tuple[str, str, dict[str, Any]]] = [
    ("PUT", "/v1/jobs/b", job()),
    ("POST", "/v1/jobs", job()),
    ("POST", "/v1/jobs", job(job_id="b")),
    ("PATCH", "/v1/jobs/a", {"description": "night"}),
    ("POST", "/v1/jobs/a/pause", {"note": "holidays"}),
    ("POST", "/v1/jobs/a/resume", {}),
    ("POST", "/v1/jobs/a/trigger", {"payload": 1}),
    ("POST", "/v1/jobs/a/backfills", JANUARY),
]


@pytest.mark.parametrize(("method", "path", "body"), COMMANDS)
def test_the_first_answer_comes_again(
    with_job: httpx.Client, harness: Harness, method: str, path: str, body: dict[str, Any]
) -> None:
    first = with_job.request(method, path, json=body, headers=KEY)
    before = written(harness)
    again = with_job.request(method, path, json=body, headers=KEY)

    assert first.is_success
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, told(again)) == (first.status_code, told(first))
    assert again.headers.get("ETag") == first.headers.get("ETag")
    assert written(harness) == before


def test_a_delete_is_answered_again(with_job: httpx.Client, harness: Harness) -> None:
    answers = [with_job.delete("/v1/jobs/a", headers=KEY) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [204, 204]
    assert with_job.delete("/v1/jobs/a").status_code == 404


def test_the_answer_is_that_of_the_time_then(with_job: httpx.Client) -> None:
    first = with_job.patch("/v1/jobs/a", json={"owner": "one"}, headers=KEY)
    with_job.patch("/v1/jobs/a", json={"owner": "two"})
    again = with_job.patch("/v1/jobs/a", json={"owner": "one"}, headers=KEY)

    assert again.json()["owner"] == "one"
    assert again.headers["ETag"] == first.headers["ETag"]
    assert with_job.get("/v1/jobs/a").json()["owner"] == "two"


@pytest.mark.parametrize(
    ("path", "body"), [("/v1/jobs/a", {"owner": "two"}), ("/v1/jobs/b", {"owner": "one"})]
)
def test_another_request_under_the_same_key_is_refused(
    with_job: httpx.Client, path: str, body: dict[str, str]
) -> None:
    with_job.put("/v1/jobs/b", json=job())
    with_job.patch("/v1/jobs/a", json={"owner": "one"}, headers=KEY)
    other = with_job.patch(path, json=body, headers=KEY)

    assert (other.status_code, other.json()["type"]) == (422, "/problems/key-reused")
    assert with_job.get(path).json()["owner"] in (None, "one")


def test_the_key_is_the_tenants_own(with_job: httpx.Client) -> None:
    other = with_job.put(
        "/v1/jobs/a", json=job(owner="x"), headers={**KEY, "Tocsin-Tenant": "acme"}
    )
    mine = with_job.put("/v1/jobs/a", json=job(owner="y"), headers=KEY)

    assert (other.status_code, mine.status_code) == (201, 200)
    assert "Idempotency-Replayed" not in mine.headers


def test_a_request_that_was_refused_may_be_mended(with_job: httpx.Client) -> None:
    refused = with_job.patch("/v1/jobs/a", json={"owner": 1}, headers=KEY)
    mended = with_job.patch("/v1/jobs/a", json={"owner": "one"}, headers=KEY)

    assert (refused.status_code, mended.status_code) == (422, 200)


def test_a_day_later_the_key_is_free(with_job: httpx.Client, harness: Harness) -> None:
    first = with_job.post("/v1/jobs/a/trigger", headers=KEY).json()
    harness.let_pass(DAY_MS - HOUR_MS)
    same = with_job.post("/v1/jobs/a/trigger", headers=KEY).json()
    harness.let_pass(2 * HOUR_MS)
    other = with_job.post("/v1/jobs/a/trigger", json={"payload": 1}, headers=KEY)

    assert same["run_id"] == first["run_id"]
    assert other.status_code == 202
    assert other.json()["run_id"] != first["run_id"]


@pytest.mark.parametrize("key", [b"", b"a b", "ä".encode(), b"x" * 256])
def test_a_key_that_no_header_should_carry_is_refused(http: httpx.Client, key: bytes) -> None:
    answer = http.put("/v1/jobs/a", json=job(), headers={b"Idempotency-Key": key})

    assert answer.status_code == 400
    assert "Idempotency-Key" in answer.json()["detail"]


def test_while_it_is_carried_out_it_is_in_flight(with_job: httpx.Client, harness: Harness) -> None:
    harness.kafka_acknowledges = False
    request = with_job.build_request("PATCH", "/v1/jobs/a", json={"owner": "one"}, headers=KEY)

    def acknowledge() -> None:
        harness.kafka_acknowledges = True

    first, second = harness.send_together(request, request, after=acknowledge)

    assert sorted((first.status_code, second.status_code)) == [200, 409]
    refused = first if first.status_code == 409 else second
    assert refused.json()["type"] == "/problems/in-flight"
    assert int(refused.headers["Retry-After"]) >= 1


@pytest.mark.parametrize(("method", "path", "body"), COMMANDS)
def test_it_counts_in_every_gateway_and_after_a_rebuild(
    with_job: httpx.Client,
    harness: Harness,
    tmp_path: Path,
    method: str,
    path: str,
    body: dict[str, Any],
) -> None:
    first = with_job.request(method, path, json=body, headers=KEY)
    harness.settle()
    (tmp_path / "other").mkdir()
    with Harness(tmp_path / "other", cluster=harness.cluster, scheduler=harness.scheduler) as other:
        before = written(harness)
        again = other.http.request(method, path, json=body, headers=KEY)

    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, told(again)) == (first.status_code, told(first))
    assert written(harness) == before


def test_a_gateway_that_has_not_read_the_first_lets_the_log_decide(
    with_job: httpx.Client, harness: Harness, tmp_path: Path
) -> None:
    """The other gateway is behind: it writes too, and finds that it came second."""
    (tmp_path / "other").mkdir()
    with Harness(tmp_path / "other", cluster=harness.cluster, scheduler=harness.scheduler) as other:
        first = with_job.patch("/v1/jobs/a", json={"owner": "one"}, headers=KEY)
        request = other.http.build_request(
            "PATCH", "/v1/jobs/a", json={"owner": "one"}, headers=KEY
        )
        again = other.send_holding_the_projector(request)

    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["ETag"] == first.headers["ETag"]
