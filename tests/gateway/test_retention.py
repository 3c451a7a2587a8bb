"""History is bounded: by age, and by count for each job."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin_gateway.projection.retention import Retention

KEY = JobKey("default", "a")
DAY_MS = 86_400_000
KEPT = Retention(age_ms=7 * DAY_MS, runs_a_job=100)


@pytest.fixture
def harness(tmp_path: Path, database_url: str) -> Iterator[Harness]:
    options = msgspec.structs.replace(PATIENT, retention=KEPT)
    with Harness(tmp_path, options, database_url=database_url) as made:
        made.http.put("/v1/jobs/a", json=job())
        made.http.put("/v1/jobs/a.2026", json=job())
        yield made


def run(harness: Harness, count: int, *, key: JobKey = KEY, ends: bool = True) -> None:
    """That many runs, a second apart."""
    now = harness.cluster.clock.now_ms()
    for second in range(count):
        made = harness.scheduler.run_of(key, now + 1_000 * second)
        harness.scheduler.emit(made)
        if ends:
            harness.scheduler.report(made, "succeeded")
    harness.settle()


def sweep(harness: Harness) -> None:
    harness.cluster.clock.advance(11_000)
    harness.settle()


def listed(harness: Harness, job_id: str = "a") -> list[str]:
    page = harness.http.get(f"/v1/jobs/{job_id}/runs?limit=500").json()
    return [item["run_id"] for item in page["items"]]


def test_b173_the_last_runs_are_kept_in_order(harness: Harness) -> None:
    run(harness, 300)
    before = listed(harness)
    sweep(harness)

    assert listed(harness) == before[:100]
    harness.gateway.projector.close()
    harness.gateway.projector.open()
    harness.settle()
    assert listed(harness) == before[:100]


def test_runs_of_a_job_with_a_longer_name_are_not_counted(harness: Harness) -> None:
    run(harness, 60)
    run(harness, 60, key=JobKey("default", "a.2026"))
    sweep(harness)

    assert (len(listed(harness)), len(listed(harness, "a.2026"))) == (60, 60)


def test_unfinished_runs_are_kept_however_many(harness: Harness) -> None:
    run(harness, 150, ends=False)
    sweep(harness)

    assert len(listed(harness)) == 150


def test_runs_and_events_of_another_week_are_gone(harness: Harness) -> None:
    run(harness, 10)
    harness.scheduler.tell(
        Event(tenant="default", job_id="a", type="rejected", time=DAY_MS, reason="old")
    )
    harness.let_pass(8 * DAY_MS)
    run(harness, 1)
    sweep(harness)

    assert len(listed(harness)) == 1
    assert harness.http.get("/healthz/ready").status_code == 200


def test_a_deleted_job_leaves_nothing_after_the_compaction_lag(harness: Harness) -> None:
    harness.http.delete("/v1/jobs/a")
    harness.let_pass(2 * DAY_MS)
    sweep(harness)

    assert harness.gateway.app.state.context.jobs.held(KEY) is None
