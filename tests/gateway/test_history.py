"""The history over the API: what did not run, what is late, and pages of it."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tocsin.model.events import Event, EventType
from tocsin.model.keys import JobKey, run_id
from tocsin.model.runs import Cause

KEY = JobKey("default", "a")
MINUTE_MS = 60_000
EVERY_MINUTE = {"cron": "* * * * *"}


def tell(
    harness: Harness,
    kind: EventType,
    first: int,
    last: int,
    *,
    count: int,
    reason: str = "why",
    cause: Cause | None = None,
) -> None:
    """An event about occurrences that do not run, as the scheduler writes it."""
    one = count == 1
    harness.scheduler.tell(
        Event(
            tenant="default",
            job_id="a",
            type=kind,
            time=harness.cluster.clock.now_ms(),
            reason=reason,
            run_id=run_id(*KEY, first) if one and cause is None else None,
            scheduled_time=first if one else None,
            count=count,
            first=first,
            last=last,
            cause=cause,
        )
    )


def rows(harness: Harness, path: str = "/v1/jobs/a/runs", **query: Any) -> list[dict[str, Any]]:
    harness.settle()
    items: list[dict[str, Any]] = harness.http.get(path, params=query).json()["items"]
    return items


class TestWhatDidNotRun:
    @pytest.fixture(autouse=True)
    def a_job(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule=EVERY_MINUTE))

    def test_b173_several_occurrences_are_one_row_with_their_number(self, harness: Harness) -> None:
        now = harness.cluster.clock.now_ms()
        tell(harness, "missed", now, now + 6 * MINUTE_MS, count=7, reason="catch-up: latest")
        harness.scheduler.emit(harness.scheduler.run_of(KEY, now + 7 * MINUTE_MS))
        run, missed = rows(harness)

        assert run["status"] == "pending"
        assert (missed["status"], missed["count"]) == ("missed", 7)
        assert missed["reason"] == "catch-up: latest"
        assert missed["first_time"] == "2026-01-01T00:00:00.000Z"
        assert missed["scheduled_time"] == "2026-01-01T00:06:00.000Z"

    def test_its_row_is_found_by_its_id_with_the_decision(self, harness: Harness) -> None:
        now = harness.cluster.clock.now_ms()
        tell(harness, "skipped", now, now + MINUTE_MS, count=2)
        (listed,) = rows(harness, status="skipped")
        found = harness.http.get(f"/v1/runs/{listed['run_id']}").json()

        assert found.items() >= listed.items()
        assert [(told["type"], told["count"]) for told in found["events"]] == [("skipped", 2)]
        assert harness.http.post(f"/v1/runs/{listed['run_id']}/cancel").status_code == 409

    def test_a_run_within_the_range_stands_beside_it(self, harness: Harness) -> None:
        """An edit counts all occurrences up to it; one of them may have run."""
        now = harness.cluster.clock.now_ms()
        harness.scheduler.emit(harness.scheduler.run_of(KEY, now))
        tell(harness, "skipped", now, now + MINUTE_MS, count=2)
        tell(harness, "skipped", now, now + MINUTE_MS, count=2)

        assert [row["status"] for row in rows(harness)] == ["skipped", "skipped", "pending"]

    def test_one_that_was_asked_for_is_not_the_schedules_own(self, harness: Harness) -> None:
        now = harness.cluster.clock.now_ms()
        tell(harness, "skipped", now, now, count=1, cause="backfill")
        harness.scheduler.emit(harness.scheduler.run_of(KEY, now))

        assert {(row["status"], row["cause"]) for row in rows(harness)} == {
            ("skipped", "backfill"),
            ("pending", "schedule"),
        }

    def test_b068_what_a_short_outage_dropped_is_visible(self, harness: Harness) -> None:
        now = harness.cluster.clock.now_ms()
        tell(harness, "missed", now, now, count=1, reason="older than catch_up.window")
        (row,) = rows(harness)

        assert (row["status"], row["reason"]) == ("missed", "older than catch_up.window")


@pytest.mark.parametrize("at", [2**62, -(2**62)])
def test_an_event_about_no_time_is_left_out(harness: Harness, at: int) -> None:
    tell(harness, "missed", at, at, count=2)
    harness.settle()

    assert harness.http.get("/v1/runs").json() == {"items": []}
    assert harness.http.get("/healthz/ready").status_code == 200


class TestOverdue:
    def info(self, harness: Harness) -> dict[str, Any]:
        info: dict[str, Any] = harness.http.get("/v1/jobs/a").json()["info"]
        listed = harness.http.get("/v1/jobs").json()["items"][0]["info"]
        assert listed == info
        return info

    def test_b172_an_occurrence_of_which_nothing_is_heard_is_overdue(
        self, harness: Harness
    ) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule=EVERY_MINUTE))
        harness.let_pass(3 * MINUTE_MS)
        info = self.info(harness)

        assert info["overdue_since"] == "2026-01-01T00:01:00.000Z"
        assert info["next"][0] == "2026-01-01T00:04:00.000Z"

    def test_b172_a_run_that_takes_long_is_running(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule={"at": "2026-01-01T00:01:00Z"}))
        harness.let_pass(MINUTE_MS)
        run = harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms())
        harness.scheduler.emit(run)
        harness.scheduler.report(run, "started")
        harness.let_pass(20 * MINUTE_MS)
        info = self.info(harness)

        assert (info["overdue_since"], info["last_run"]["status"]) == (None, "running")

    def test_what_was_skipped_or_missed_is_not_overdue(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule=EVERY_MINUTE))
        now = harness.cluster.clock.now_ms()
        tell(harness, "missed", now + MINUTE_MS, now + 5 * MINUTE_MS, count=5)
        harness.let_pass(5 * MINUTE_MS)

        assert self.info(harness)["overdue_since"] is None

    def test_what_waits_for_another_run_is_not_overdue(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule=EVERY_MINUTE, overlap="buffer_one"))
        run = harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms())
        harness.scheduler.emit(run)
        harness.scheduler.report(run, "started")
        harness.let_pass(10 * MINUTE_MS)

        assert self.info(harness)["overdue_since"] is None

    def test_a_paused_job_is_not_overdue_and_a_resumed_one_begins_anew(
        self, harness: Harness
    ) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule=EVERY_MINUTE))
        harness.http.post("/v1/jobs/a/pause")
        harness.let_pass(10 * MINUTE_MS)
        paused = self.info(harness)["overdue_since"]
        harness.http.post("/v1/jobs/a/resume")

        assert (paused, self.info(harness)["overdue_since"]) == (None, None)

    def test_jitter_is_waited_for(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule={"cron": "0 * * * *"}, jitter="PT30M"))
        harness.let_pass(85 * MINUTE_MS)
        on_its_way = self.info(harness)["overdue_since"]
        harness.let_pass(10 * MINUTE_MS)

        assert on_its_way is None
        assert self.info(harness)["overdue_since"] == "2026-01-01T01:00:00.000Z"


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    news=st.lists(st.tuples(st.integers(-30, 30), st.booleans()), max_size=8),
    limit=st.integers(1, 6),
)
def test_runs_that_stay_are_listed_once_while_others_come(
    harness: Harness, news: list[tuple[int, bool]], limit: int
) -> None:
    """Between pages runs start, succeed and are added, older ones by a backfill."""
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    for second in range(0, 20, 2):
        harness.scheduler.emit(harness.scheduler.run_of(KEY, now + 1_000 * second))
    staying = {row["run_id"] for row in rows(harness, limit=500)}
    read: list[str] = []
    cursor, left = None, list(news)
    while True:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = harness.http.get("/v1/runs", params=query).json()
        read += [item["run_id"] for item in page["items"]]
        if left:
            second, ends = left.pop()
            run = harness.scheduler.run_of(KEY, now + 1_000 * second)
            harness.scheduler.emit(run)
            if ends:
                harness.scheduler.report(run, "succeeded")
            harness.settle()
        cursor = page.get("next_cursor")
        if cursor is None:
            break

    assert len(read) == len(set(read))
    assert staying <= set(read)


def test_b171_every_time_of_the_history_says_its_offset(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    run = harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms())
    harness.scheduler.emit(run)
    harness.scheduler.report(run, "succeeded")
    harness.settle()
    found = harness.http.get(f"/v1/runs/{run.run_id}").json()
    times = {name: value for name, value in found.items() if name.endswith("_time") and value}

    assert len(times) == 5
    assert all(value.endswith("Z") for value in times.values())
