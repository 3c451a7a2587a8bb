"""Backfills, redrives and completions."""

from typing import Any

import httpx
import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.fake_scheduler import outcome_of
from tests.gateway.harness import Harness
from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin.model.runs import Dead, Error, Outcome, Run
from tocsin.wire.codec import DEAD

KEY = JobKey("default", "a")
AT = 1_790_000_000_000
THREE_DAYS = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-04T00:00:00Z"}


@pytest.fixture
def run(harness: Harness) -> Run:
    """The first attempt of a run of the job a."""
    harness.http.put("/v1/jobs/a", json=job())
    made = harness.scheduler.run_of(KEY, AT)
    harness.scheduler.emit(made)
    harness.settle()
    return made


def died(harness: Harness, run: Run) -> None:
    """The run has used up its attempts."""
    error = Error(code="http_status", message="500")
    harness.scheduler.report(run, "failed", error)
    last: Outcome = outcome_of(run, "failed", error)
    record = DEAD.encode(Dead(run=run, outcome=last, attempts=1))
    harness.cluster.producer().produce(harness.topics.dead, str(KEY).encode(), record)
    dead = Event(tenant="default", job_id="a", type="dead", time=AT, reason="no attempts left")
    harness.scheduler.tell(msgspec.structs.replace(dead, run_id=run.run_id, attempt=1))
    harness.settle()


class TestBackfills:
    def test_the_slots_are_counted_and_the_progress_is_told(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job())
        asked = harness.http.post("/v1/jobs/a/backfills", json={**THREE_DAYS, "overlap": "skip"})
        backfill = asked.json()
        told = Event(
            tenant="default",
            job_id="a",
            type="backfill_progress",
            time=harness.cluster.clock.now_ms(),
            reason=backfill["backfill_id"],
            count=2,
        )
        harness.scheduler.tell(told)
        harness.settle()
        (listed,) = harness.http.get("/v1/jobs/a/backfills").json()["items"]

        assert (asked.status_code, backfill["slots"]) == (202, 3)
        assert (listed["status"], listed["accounted"], listed["overlap"]) == ("running", 2, "skip")
        assert listed["from"] == "2026-01-01T00:00:00.000Z"

    def test_one_that_is_cancelled_has_ended(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job())
        backfill = harness.http.post("/v1/jobs/a/backfills", json=THREE_DAYS).json()
        path = f"/v1/backfills/{backfill['backfill_id']}/cancel"
        cancelled = harness.http.post(path)
        harness.settle()
        again = harness.http.post(path)
        (listed,) = harness.http.get("/v1/jobs/a/backfills").json()["items"]

        assert (cancelled.status_code, again.status_code) == (202, 409)
        assert listed["status"] == "cancelled"

    def test_it_is_its_tenants_own(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job())
        backfill = harness.http.post("/v1/jobs/a/backfills", json=THREE_DAYS).json()
        other = harness.http.post(
            f"/v1/backfills/{backfill['backfill_id']}/cancel", headers={"Tocsin-Tenant": "acme"}
        )

        assert other.status_code == 404

    @pytest.mark.parametrize(
        ("asked", "pointer"),
        [
            ({}, "/from"),
            ({"from": "2026-01-01", "to": "2026-01-02T00:00:00Z"}, "/from"),
            ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "/to"),
            ({"from": "2026-01-02T08:00:00Z", "to": "2026-01-02T09:00:00Z"}, "/from"),
            ({"from": "1990-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "/to"),
            ({**THREE_DAYS, "overlap": "never"}, "/overlap"),
            ({**THREE_DAYS, "until": 1}, "/until"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, http: httpx.Client, asked: dict[str, Any], pointer: str
    ) -> None:
        http.put("/v1/jobs/a", json=job())
        answer = http.post("/v1/jobs/a/backfills", json=asked)

        assert answer.status_code == 422
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]

    def test_a_one_off_has_no_slots(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job(schedule={"at": "2099-01-01T00:00:00Z"}))
        answer = http.post("/v1/jobs/a/backfills", json=THREE_DAYS)

        assert "trigger it instead" in answer.json()["errors"][0]["message"]

    def test_a_job_that_is_not_there_has_none(self, http: httpx.Client) -> None:
        assert http.post("/v1/jobs/a/backfills", json=THREE_DAYS).status_code == 404
        assert http.get("/v1/jobs/a/backfills").status_code == 404
        assert http.post("/v1/backfills/x/cancel").status_code == 404


class TestRedrive:
    def test_b125_a_dead_run_is_pending_again_as_the_same_run(
        self, harness: Harness, run: Run
    ) -> None:
        died(harness, run)
        answer = harness.http.post(f"/v1/runs/{run.run_id}/redrive")

        assert answer.status_code == 202
        redriven = answer.json()
        assert (redriven["run_id"], redriven["status"]) == (run.run_id, "pending")
        assert (redriven["attempt"], redriven["cause"]) == (2, "redrive")

    def test_a_run_that_is_not_dead_is_not_redriven(self, harness: Harness, run: Run) -> None:
        answer = harness.http.post(f"/v1/runs/{run.run_id}/redrive")

        assert (answer.status_code, answer.json()["type"]) == (409, "/problems/not-dead")
        assert "pending" in answer.json()["detail"]

    def test_an_unknown_run_is_not_found(self, http: httpx.Client) -> None:
        assert http.post("/v1/runs/nothing/redrive").status_code == 404
