"""Statistics over the API, against a naive count over the same history."""

from collections import Counter
from math import ceil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.documents import job
from tests.gateway.fake_scheduler import outcome_of
from tests.gateway.harness import PATIENT, Harness
from tests.gateway.test_history import MINUTE_MS, tell
from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin.model.runs import Error, OutcomeKind
from tocsin.timetable.instants import parse_instant
from tocsin.wire.codec import OUTCOME
from tocsin_gateway.projection.retention import Retention
from tocsin_gateway.projection.statistics import StatisticsReads
from tocsin_gateway.projection.tally import bucket_of, value_of

KEY = JobKey("default", "a")
BROKEN = Error(code="exception", message="broken")
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


def run(
    harness: Harness, at: int, kind: OutcomeKind, late: int, lasts: int, suffix: str = ""
) -> None:
    """A run that starts so many milliseconds after it was due, and takes so many."""
    made = harness.scheduler.run_of(KEY, at, suffix)
    harness.scheduler.emit(made)
    told = msgspec.structs.replace(
        outcome_of(made, kind, BROKEN if kind == "failed" else None),
        started_time=at + late,
        time=at + late + lasts,
    )
    harness.cluster.producer().produce(harness.topics.outcomes, b"default/a", OUTCOME.encode(told))


def stats(harness: Harness, path: str = "/v1/jobs/a/stats", **query: str) -> dict[str, Any]:
    harness.settle()
    answer = harness.http.get(path, params=query)
    assert answer.status_code == 200, answer.json()
    document: dict[str, Any] = answer.json()
    return document


def naive(values: list[int]) -> dict[str, Any]:
    """Quantiles by nearest rank, of values as they are kept."""
    if not values:
        return {"count": 0, "mean": None}
    ranked = [value_of(bucket_of(value)) for value in sorted(values)]
    parts = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1}
    found = {name: ranked[ceil(part * len(ranked)) - 1] for name, part in parts.items()}
    return {"count": len(ranked), "mean": round(sum(values) / len(values), 1), **found}


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["succeeded", "failed", "cancelled"]),
            st.integers(0, 5_000),
            st.integers(0, 90_000),
        ),
        max_size=40,
    )
)
def test_numbers_agree_with_a_naive_count(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[OutcomeKind, int, int]]
) -> None:
    with Harness(tmp_path_factory.mktemp("gateway")) as harness:
        harness.http.put("/v1/jobs/a", json=job())
        now = harness.cluster.clock.now_ms()
        for number, (kind, late, lasts) in enumerate(told):
            run(harness, now - number, kind, late, lasts)
        found, of_tenant = stats(harness), stats(harness, "/v1/stats")

    status = {"failed": "retrying"}
    counted = Counter(status.get(kind, kind) for kind, _, _ in told)
    assert found["occurrences"] == counted
    assert found["lateness_ms"] == naive([late for _, late, _ in told])
    assert found["duration_ms"] == naive([lasts for _, _, lasts in told])
    assert found["is_whole"]
    assert of_tenant.items() >= {**found, "since": of_tenant["since"]}.items()


@given(st.integers(0, 2**62))
def test_a_value_that_is_read_back_is_off_by_less_than_a_sixtieth(value: int) -> None:
    read = value_of(bucket_of(value))

    assert abs(read - value) * 60 <= value
    assert read == value or value >= 64
    assert bucket_of(read) == bucket_of(value) <= bucket_of(value + 1)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.lists(st.sampled_from(["started", "failed", "succeeded"]), max_size=4)))
def test_a_tenant_is_what_its_rows_come_to(
    tmp_path_factory: pytest.TempPathFactory, told: list[list[OutcomeKind]]
) -> None:
    """However a run came to be what it is, and in however many batches."""
    with Harness(tmp_path_factory.mktemp("gateway")) as harness:
        harness.http.put("/v1/jobs/a", json=job())
        now = harness.cluster.clock.now_ms()
        for turn in range(4):
            for number, kinds in enumerate(told):
                for kind in kinds[turn : turn + 1]:
                    run(harness, now - HOUR_MS * number, kind, number, 10 * number)
            harness.settle()
        found, of_tenant = stats(harness, since="P9D"), stats(harness, "/v1/stats", since="P9D")

    assert of_tenant.items() >= {**found, "since": of_tenant["since"]}.items()


@pytest.mark.parametrize("minutes", [1, 59, 60, 61, 95, 299])
def test_a_tenants_numbers_begin_with_ten_minutes(harness: Harness, minutes: int) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    harness.cluster.clock.advance(47 * MINUTE_MS)
    now = harness.cluster.clock.now_ms()
    times = [now - 5 * MINUTE_MS * number for number in range(60)]
    for at in times:
        run(harness, at, "succeeded", 1, 1)
    found = stats(harness, "/v1/stats", since=f"PT{minutes}M")
    begin = parse_instant(found["since"])

    assert begin % (10 * MINUTE_MS) == 0
    assert 0 <= now - minutes * MINUTE_MS - begin < 10 * MINUTE_MS
    assert found["occurrences"] == {"succeeded": sum(at >= begin for at in times)}


def test_a_job_loses_no_numbers_with_its_rows(tmp_path: Path, database_url: str) -> None:
    """What its limit by count removes goes on counting, by the hour; what its age removes not."""
    options = msgspec.structs.replace(
        PATIENT, retention=Retention(age_ms=7 * DAY_MS, runs_a_job=20)
    )
    with Harness(tmp_path, options, database_url=database_url) as harness:
        harness.http.put("/v1/jobs/a", json=job())
        now = harness.cluster.clock.now_ms()
        for minute in range(120):
            run(harness, now - MINUTE_MS * minute, "succeeded", minute, 2 * minute)
        before = stats(harness, since="PT119M")
        harness.let_pass(11_000)
        harness.let_pass(11_000)
        rows = harness.http.get("/v1/jobs/a/runs?limit=500").json()["items"]
        after, of_tenant = stats(harness, since="PT119M"), stats(harness, "/v1/stats")
        harness.let_pass(8 * DAY_MS)
        long_after = stats(harness, since="P30D")

    assert len(rows) == 20
    assert (before["occurrences"], after["occurrences"]) == ({"succeeded": 120},) * 2
    assert after["since"] <= before["since"]
    for measure in ("duration_ms", "lateness_ms"):
        assert after[measure] == before[measure] == of_tenant[measure]
    assert long_after["occurrences"] == {}


def test_b175_a_pause_misses_nothing_and_each_reason_is_counted(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job(schedule={"cron": "* * * * *"}))
    harness.http.post("/v1/jobs/a/pause")
    harness.let_pass(5 * MINUTE_MS)
    harness.http.post("/v1/jobs/a/resume")
    now = harness.cluster.clock.now_ms()
    for minute in range(3):
        at = now + minute * MINUTE_MS
        tell(harness, "skipped", at, at, count=1, reason="overlap: skip")
    old = now + 3 * MINUTE_MS
    tell(harness, "missed", old, old + MINUTE_MS, count=2, reason="older than catch_up.window")
    found = stats(harness)

    assert found["occurrences"] == {"skipped": 3, "missed": 2}
    assert found["not_run"] == {"overlap: skip": 3, "older than catch_up.window": 2}
    assert found["success_rate"] is None


def test_the_slots_of_a_backfill_are_not_late(harness: Harness) -> None:
    """They count as what they became, and took as long as they took."""
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    run(harness, now, "succeeded", 5, 7)
    run(harness, now - 9 * HOUR_MS, "succeeded", 9 * HOUR_MS, 7, suffix="-b0123abcd")
    of_job, of_tenant = stats(harness), stats(harness, "/v1/stats")

    assert of_job["lateness_ms"]["count"] == of_tenant["lateness_ms"]["count"] == 1
    assert (of_job["lateness_ms"]["max"], of_job["duration_ms"]["count"]) == (5, 2)
    assert of_job["occurrences"] == {"succeeded": 2}
    rows = harness.http.get("/v1/runs", params={"job_id": "a"}).json()["items"]
    assert [row["lateness_ms"] for row in rows] == [5, None]


def test_the_success_rate_leaves_out_what_was_cancelled_or_goes_on(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    for number, kind in enumerate(("succeeded", "succeeded", "succeeded", "expired", "cancelled")):
        run(harness, now - number, kind, 0, 0)  # type: ignore[arg-type]
    run(harness, now - 9, "failed", 0, 0)

    assert stats(harness)["success_rate"] == 0.75


def test_a_period_is_a_time_or_a_duration(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    for hours in range(30):
        run(harness, now - hours * HOUR_MS, "succeeded", 1, 1)

    assert stats(harness)["occurrences"] == {"succeeded": 25}
    assert stats(harness, since="PT2H")["occurrences"] == {"succeeded": 3}
    assert stats(harness, since="2025-12-31T23:00:00Z")["since"] == "2025-12-31T23:00:00.000Z"
    assert stats(harness, since="P40D")["occurrences"] == {"succeeded": 30}


@pytest.mark.parametrize("since", ["yesterday", "-PT1H", "P1Y", "PT0S", "2026-01-01"])
def test_what_is_no_period_is_told(harness: Harness, since: str) -> None:
    answer = harness.http.get("/v1/stats", params={"since": since})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/since")


def test_more_than_can_be_looked_at_is_said(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    for second in range(10):
        run(harness, now - 1_000 * second, "succeeded", 1, 1)
    harness.settle()
    found = StatisticsReads(harness.database, most_rows=4).of_job(KEY, now - HOUR_MS)

    assert (found.is_whole, found.since) == (False, now - 3_000)
    assert found.statuses == {"succeeded": 4}


def test_jobs_are_counted_by_phase_and_tenant(harness: Harness) -> None:
    for name in ("a", "b", "c"):
        harness.http.put(f"/v1/jobs/{name}", json=job())
    harness.http.put("/v1/jobs/a", json=job(), headers={"Tocsin-Tenant": "acme"})
    harness.http.post("/v1/jobs/b/pause")
    harness.http.delete("/v1/jobs/c")
    found = stats(harness, "/v1/stats")

    assert found["jobs"] == {"active": 1, "paused": 1, "completed": 0}
    assert found["read_model"] == {"history_complete": True, "problem": None}


def test_the_number_of_jobs_is_that_of_the_lists(harness: Harness) -> None:
    """Whatever happens to a job, and after all were read anew from the log."""
    for number in range(6):
        harness.http.put(f"/v1/jobs/job-{number}", json=job())
    for number in (1, 2, 3):
        revision = int(harness.http.get(f"/v1/jobs/job-{number}").headers["ETag"].strip('"'))
        harness.scheduler.tell(
            Event(
                tenant="default",
                job_id=f"job-{number}",
                type="completed",
                time=harness.cluster.clock.now_ms(),
                reason="",
                revision=revision,
            )
        )
    assert stats(harness, "/v1/stats")["jobs"] == {"active": 3, "paused": 0, "completed": 3}
    harness.http.put("/v1/jobs/job-2", json=job(description="edited"))
    harness.http.delete("/v1/jobs/job-3")
    harness.http.post("/v1/jobs/job-4/pause")
    expected = {"active": 3, "paused": 1, "completed": 1}
    assert stats(harness, "/v1/stats")["jobs"] == expected
    harness.projector.close()
    harness.cluster.clock.advance(2 * DAY_MS)
    harness.projector.open()

    assert stats(harness, "/v1/stats")["jobs"] == expected
    for phase, number in expected.items():
        assert len(harness.http.get("/v1/jobs", params={"status": phase}).json()["items"]) == number


def test_a_job_that_is_not_has_no_statistics(harness: Harness) -> None:
    assert harness.http.get("/v1/jobs/nobody/stats").status_code == 404
