"""SQLite and PostgreSQL hold the same and answer the same."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin.model.runs import Error
from tocsin_gateway.projection.database import open_database
from tocsin_gateway.projection.engines import DatabaseUnusable
from tocsin_gateway.projection.retention import Retention

KEPT = msgspec.structs.replace(PATIENT, retention=Retention(runs_a_job=12))
TEXT = "Ünïcode 🦉 'quoted' %s %(name)s"

PATHS = (
    "/v1/jobs?sort=-job_id",
    "/v1/jobs?tag=team:x&limit=2",
    "/v1/jobs?q=%25&owner=me",
    "/v1/jobs?status=paused",
    "/v1/runs?limit=5",
    "/v1/runs?status=dead",
    "/v1/runs?status=pending&status=dead&job_id=a",
    "/v1/runs?tag=team&since=2026-01-01T00:00:03Z",
    "/v1/jobs/a/runs",
    "/v1/runs/default.a.20260101T000019.000Z",
)


def history(harness: Harness) -> None:
    """Jobs, runs that succeed and fail, events, and a sweep."""
    for number, name in enumerate(["a", "B", "a.b", "c", "A-d"]):
        fields = {"tags": {"team": "x" if number % 2 else TEXT}, "description": TEXT}
        status = "paused" if number == 2 else "active"
        put = harness.http.put(f"/v1/jobs/{name}", json=job(owner="me", status=status, **fields))
        assert put.status_code == 201, put.json()
    harness.http.delete("/v1/jobs/B")
    now = harness.cluster.clock.now_ms()
    for second in range(20):
        run = harness.scheduler.run_of(JobKey("default", "a"), now + 1_000 * second)
        harness.scheduler.emit(run)
        failed = Error(code="exception", message=TEXT) if second % 4 == 3 else None
        harness.scheduler.report(run, "failed" if failed else "succeeded", failed, b'{"n": 1}')
        if failed:
            dead = Event(
                tenant="default", job_id="a", type="dead", time=now, reason=TEXT, attempt=1
            )
            harness.scheduler.tell(msgspec.structs.replace(dead, run_id=run.run_id))
    harness.settle()
    harness.cluster.clock.advance(11_000)
    harness.settle()


def answers(harness: Harness) -> dict[str, Any]:
    return {path: harness.http.get(path).json() for path in PATHS}


def test_both_answer_the_same(tmp_path: Path, postgres_url: str) -> None:
    with Harness(tmp_path, KEPT) as embedded:
        history(embedded)
        expected = answers(embedded)
    with Harness(tmp_path, KEPT, database_url=postgres_url) as served:
        history(served)
        found = answers(served)

    for path in PATHS:
        assert found[path] == expected[path], path
    assert len(expected["/v1/jobs/a/runs"]["items"]) == 12


def test_two_gateways_share_a_postgres(tmp_path: Path, postgres_url: str) -> None:
    with (
        Harness(tmp_path, database_url=postgres_url) as one,
        Harness(
            tmp_path, cluster=one.cluster, scheduler=one.scheduler, database_url=postgres_url
        ) as two,
    ):
        for number in range(6):
            writer, reader = (one, two) if number % 2 else (two, one)
            written = writer.http.put(f"/v1/jobs/job-{number}", json=job())
            reader.settle()

            assert written.status_code == 201
            assert reader.http.get(f"/v1/jobs/job-{number}").json() == written.json()


def test_a_nul_in_an_error_does_not_stop_a_postgres(tmp_path: Path, postgres_url: str) -> None:
    with Harness(tmp_path, database_url=postgres_url) as harness:
        harness.http.put("/v1/jobs/a", json=job())
        run = harness.scheduler.run_of(JobKey("default", "a"), harness.cluster.clock.now_ms())
        harness.scheduler.report(run, "failed", Error(code="exception", message="a\0b"))
        harness.settle()

        answer = harness.http.get(f"/v1/runs/{run.run_id}").json()
        assert answer["error"]["message"] == "a\ufffdb"


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://h/x", "oracle+nodriver://h/x"])
def test_what_is_no_url_of_a_database_is_told(url: str) -> None:
    with pytest.raises(DatabaseUnusable):
        open_database(url, 0)
