"""Runs over the API: what the log says of them, in one place."""

from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.fake_scheduler import outcome_of
from tests.gateway.harness import PATIENT, Harness
from tocsin.model.events import Event, EventType
from tocsin.model.keys import JobKey
from tocsin.model.runs import Dead, Error, Run
from tocsin.wire.codec import DEAD, OUTCOME

KEY = JobKey("default", "a")
REFUSED = Error(code="connect", message="refused")


@pytest.fixture
def run(harness: Harness) -> Run:
    """A run of a job that exists; nothing is on the log of it yet."""
    harness.http.put("/v1/jobs/a", json=job(handler={"type": "http", "url": "http://h/x"}))
    return harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms())


def event(run: Run, kind: EventType, **fields: Any) -> Event:
    """A decision about an attempt."""
    return Event(
        tenant=run.tenant,
        job_id=run.job_id,
        type=kind,
        time=run.emitted_time + 30,
        reason=f"{kind}: why",
        run_id=run.run_id,
        scheduled_time=run.scheduled_time,
        **{"attempt": run.attempt, **fields},
    )


def read(harness: Harness, run: Run) -> dict[str, Any]:
    harness.settle()
    document: dict[str, Any] = harness.http.get(f"/v1/runs/{run.run_id}").json()
    return document


def test_a_run_that_succeeds(harness: Harness, run: Run) -> None:
    harness.scheduler.emit(run)
    pending = read(harness, run)
    harness.scheduler.report(run, "started")
    running = read(harness, run)
    harness.scheduler.report(run, "succeeded", result=b'{"rows": 3}')
    succeeded = read(harness, run)

    assert [seen["status"] for seen in (pending, running, succeeded)] == [
        "pending",
        "running",
        "succeeded",
    ]
    assert succeeded["scheduled_time"] == succeeded["due_time"] == "2026-01-01T00:00:00.000Z"
    assert succeeded["emitted_time"] == "2026-01-01T00:00:00.003Z"
    assert succeeded["started_time"] == "2026-01-01T00:00:00.013Z"
    assert succeeded["finished_time"] == "2026-01-01T00:00:00.023Z"
    assert succeeded["lateness_ms"] == 13
    assert succeeded["worker"] == "worker-1"
    assert succeeded["result"] == {"rows": 3}
    assert succeeded["handler"] == "http"


def test_a_run_that_fails_is_retried_and_dies(harness: Harness, run: Run) -> None:
    harness.scheduler.emit(run)
    harness.scheduler.report(run, "failed", REFUSED)
    harness.scheduler.tell(event(run, "retry_scheduled", retry_time=run.due_time + 10_000))
    retrying = read(harness, run)
    again = msgspec.structs.replace(run, attempt=2, emitted_time=run.due_time + 10_001)
    harness.scheduler.emit(again)
    pending = read(harness, run)
    harness.scheduler.report(again, "failed", REFUSED)
    harness.scheduler.tell(event(again, "dead"))
    dead = read(harness, run)

    assert (retrying["status"], retrying["retry_time"]) == ("retrying", "2026-01-01T00:00:10.000Z")
    assert (pending["status"], pending["attempt"], pending["error"]) == ("pending", 2, None)
    assert (dead["status"], dead["attempt"]) == ("dead", 2)
    assert dead["error"] == {"code": "connect", "message": "refused"}
    assert [attempt["status"] for attempt in dead["attempts"]] == ["failed", "failed"]
    assert [told["type"] for told in dead["events"]] == ["retry_scheduled", "dead"]
    assert dead["retry_time"] is None


def test_a_lost_lease_is_an_error_of_its_attempt(harness: Harness, run: Run) -> None:
    harness.scheduler.emit(run)
    harness.scheduler.report(run, "started")
    harness.scheduler.tell(event(run, "lease_expired"))
    harness.scheduler.emit(msgspec.structs.replace(run, attempt=2))
    seen = read(harness, run)

    assert (seen["status"], seen["attempt"]) == ("pending", 2)
    assert seen["attempts"][0]["status"] == "failed"
    assert seen["attempts"][0]["error"]["code"] == "lease_expired"


def test_b082_a_late_success_ends_the_run_and_a_late_failure_changes_nothing(
    harness: Harness, run: Run
) -> None:
    harness.scheduler.emit(run)
    harness.scheduler.report(run, "started")
    harness.scheduler.tell(event(run, "lease_expired"))
    newer = msgspec.structs.replace(run, attempt=2)
    harness.scheduler.emit(newer)
    harness.scheduler.report(newer, "started")
    harness.scheduler.report(run, "failed", REFUSED)
    still_running = read(harness, run)
    harness.scheduler.report(run, "succeeded")
    harness.scheduler.tell(event(newer, "cancelled"))
    succeeded = read(harness, run)

    assert (still_running["status"], still_running["attempt"]) == ("running", 2)
    assert (succeeded["status"], succeeded["attempt"]) == ("succeeded", 1)


def test_b169_no_run_of_a_lost_worker_is_shown_as_running(harness: Harness, run: Run) -> None:
    harness.scheduler.emit(run)
    harness.scheduler.report(run, "started")
    harness.scheduler.tell(event(run, "lease_expired"))
    harness.scheduler.tell(event(run, "dead"))
    harness.settle()

    assert harness.http.get("/v1/runs?status=running").json()["items"] == []
    assert [each["status"] for each in harness.http.get("/v1/runs").json()["items"]] == ["dead"]


def test_what_a_second_claimant_says_is_not_the_run(harness: Harness, run: Run) -> None:
    """A redelivered record: the lease is the first claimant's, the second is cancelled by name."""
    harness.scheduler.emit(run)
    harness.scheduler.report(run, "started")
    second = outcome_of(run, "cancelled", worker="worker-2")
    harness.cluster.producer().produce(
        harness.topics.outcomes, str(run.key).encode(), OUTCOME.encode(second)
    )

    assert read(harness, run)["status"] == "running"


def test_a_skipped_occurrence_is_a_row_with_its_reason(harness: Harness, run: Run) -> None:
    harness.scheduler.tell(
        event(run, "skipped", attempt=None, first=run.scheduled_time, last=run.scheduled_time)
    )
    seen = read(harness, run)

    assert (seen["status"], seen["reason"]) == ("skipped", "skipped: why")
    assert (seen["attempt"], seen["started_time"]) == (None, None)
    assert harness.http.get("/v1/jobs/a").json()["info"]["last_run"] is None


def test_a_run_wins_over_skipped(harness: Harness, run: Run) -> None:
    harness.scheduler.tell(event(run, "skipped", attempt=None))
    harness.scheduler.emit(run)

    assert read(harness, run)["status"] == "pending"


def test_a_dead_letter_is_kept_whole(harness: Harness, run: Run) -> None:
    dead = Dead(run=run, outcome=outcome_of(run, "failed", REFUSED), attempts=5)
    harness.cluster.producer().produce(harness.topics.dead, b"default/a", DEAD.encode(dead))
    harness.settle()
    kept = harness.gateway.app.state.context.runs.dead_letter(run.run_id)

    assert DEAD.decode(kept) == dead


def test_a_completed_job_says_so_until_it_is_edited(harness: Harness, run: Run) -> None:
    revision = harness.scheduler.held[KEY].revision
    done = event(run, "completed", attempt=None, revision=revision)
    harness.scheduler.tell(msgspec.structs.replace(done, run_id=None, scheduled_time=None))
    harness.settle()
    completed = harness.http.get("/v1/jobs/a").json()["info"]["phase"]
    edited = harness.http.put("/v1/jobs/a", json=job()).json()["info"]["phase"]

    assert (completed, edited) == ("completed", "active")


def test_b092_what_runs_of_a_deleted_job_say_does_not_bring_it_back(
    harness: Harness, run: Run
) -> None:
    harness.scheduler.emit(run)
    harness.http.delete("/v1/jobs/a")
    harness.scheduler.report(run, "succeeded")

    assert read(harness, run)["status"] == "succeeded"
    assert harness.http.get("/v1/jobs/a").status_code == 404


class TestTrigger:
    def test_the_answer_is_the_runs_row(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job())
        harness.cluster.clock.advance(1_234)
        triggered = harness.http.post("/v1/jobs/a/trigger", json={"payload": None})
        row = triggered.json()
        signal = harness.scheduler.signals[0]

        assert triggered.status_code == 202
        assert triggered.headers["Location"] == f"/v1/runs/{row['run_id']}"
        assert row["run_id"] == f"default.a.20260101T000001.234Z-m{signal.signal_id[:8]}"
        assert (row["cause"], row["scheduled_time"]) == ("manual", "2026-01-01T00:00:01.234Z")
        assert (signal.assumes, signal.payload) == (harness.scheduler.held[KEY].revision, b"null")

    def test_a_skipped_trigger_is_answered_too(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job())
        harness.scheduler.busy.add(KEY)
        triggered = harness.http.post("/v1/jobs/a/trigger")

        assert triggered.status_code == 202
        assert triggered.json()["status"] == "skipped"
        assert "unfinished" in triggered.json()["reason"]

    def test_a_paused_job_may_be_triggered(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job(status="paused"))

        assert http.post("/v1/jobs/a/trigger").json()["status"] == "pending"

    def test_a_job_that_does_not_exist_may_not(self, http: httpx.Client) -> None:
        assert http.post("/v1/jobs/a/trigger").status_code == 404

    def test_without_a_scheduler_the_run_is_promised(self, tmp_path: Path) -> None:
        with Harness(tmp_path, msgspec.structs.replace(PATIENT, run_timeout=0.05)) as harness:
            harness.http.put("/v1/jobs/a", json=job())
            harness.scheduler_runs = False
            triggered = harness.http.post("/v1/jobs/a/trigger")

            assert triggered.status_code == 202
            assert triggered.json()["status"] == "pending"
            assert triggered.json()["emitted_time"] is None
            harness.scheduler_runs = True
            harness.settle()
            known = harness.http.get(triggered.headers["Location"])
            assert known.json()["run_id"] == triggered.json()["run_id"]


class TestCancel:
    def test_an_unfinished_run_is_cancelled(self, harness: Harness, run: Run) -> None:
        harness.scheduler.emit(run)
        harness.settle()
        answered = harness.http.post(f"/v1/runs/{run.run_id}/cancel")

        assert answered.status_code == 202
        assert read(harness, run)["status"] == "cancelled"

    def test_a_run_that_has_ended_is_not(self, harness: Harness, run: Run) -> None:
        harness.scheduler.emit(run)
        harness.scheduler.report(run, "succeeded")
        harness.settle()
        answered = harness.http.post(f"/v1/runs/{run.run_id}/cancel")

        assert (answered.status_code, answered.json()["type"]) == (409, "/problems/ended")

    def test_an_unknown_run_is_not_found(self, http: httpx.Client) -> None:
        assert http.post("/v1/runs/default.a.20260101T000000.000Z/cancel").status_code == 404


class TestComplete:
    def complete(self, harness: Harness, run: Run, **body: Any) -> httpx.Response:
        return harness.http.post(f"/v1/runs/{run.run_id}/complete", json=body)

    def test_a_deferred_run_succeeds_with_its_result(self, harness: Harness, run: Run) -> None:
        harness.scheduler.emit(run)
        harness.scheduler.defer(run)
        harness.settle()
        answered = self.complete(harness, run, succeeded=True, attempt=1, result={"rows": 3})

        assert answered.status_code == 200
        assert (answered.json()["status"], answered.json()["result"]) == ("succeeded", {"rows": 3})
        assert read(harness, run)["status"] == "succeeded"

    def test_a_deferred_run_fails_with_its_error(self, harness: Harness, run: Run) -> None:
        harness.scheduler.emit(run)
        harness.scheduler.defer(run)
        answered = self.complete(
            harness, run, succeeded=False, error={"message": "no paper", "permanent": True}
        )

        assert answered.status_code == 200
        assert answered.json()["error"] == {"code": "exception", "message": "no paper"}
        (signal,) = harness.scheduler.signals
        assert signal.error == Error(code="exception", message="no paper", permanent=True)

    def test_it_may_be_completed_before_its_worker_is_heard(
        self, harness: Harness, run: Run
    ) -> None:
        harness.scheduler.emit(run)
        harness.settle()
        step = harness.scheduler.step
        harness.scheduler.step = lambda: (  # type: ignore[method-assign]
            step() if harness.scheduler.deferred else harness.scheduler.defer(run)
        )
        assert self.complete(harness, run, succeeded=True).json()["status"] == "succeeded"

    def test_a_run_that_has_ended_is_not(self, harness: Harness, run: Run) -> None:
        harness.scheduler.emit(run)
        harness.scheduler.report(run, "succeeded")
        harness.settle()
        answered = self.complete(harness, run, succeeded=True)

        assert (answered.status_code, answered.json()["type"]) == (409, "/problems/ended")
        assert harness.scheduler.signals == []

    def test_another_attempt_is_not(self, harness: Harness, run: Run) -> None:
        harness.scheduler.emit(run)
        harness.scheduler.defer(run)
        harness.settle()
        answered = self.complete(harness, run, succeeded=True, attempt=2)

        assert (answered.status_code, answered.json()["type"]) == (409, "/problems/not-deferred")
        assert harness.scheduler.signals == []

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({}, "/succeeded"),
            ({"succeeded": "yes"}, "/succeeded"),
            ({"succeeded": True, "attempt": "1"}, "/attempt"),
            ({"succeeded": True, "error": {"message": "m"}}, "/error"),
            ({"succeeded": False, "result": 3}, "/result"),
            ({"succeeded": False, "error": {"code": "bad", "message": "m"}}, "/error/code"),
            ({"succeeded": False, "error": {}}, "/error/message"),
            ({"succeeded": True, "results": 3}, "/results"),
            ({"succeeded": True, "result": "x" * 70_000}, "/result"),
        ],
    )
    def test_b137_a_wrong_field_is_named(
        self, harness: Harness, run: Run, body: dict[str, Any], pointer: str
    ) -> None:
        harness.scheduler.emit(run)
        harness.scheduler.defer(run)
        harness.settle()
        answered = self.complete(harness, run, **body)

        assert answered.status_code == 422
        assert [error["pointer"] for error in answered.json()["errors"]] == [pointer]
        assert harness.scheduler.signals == []

    def test_an_unknown_run_is_not_found(self, http: httpx.Client) -> None:
        path = "/v1/runs/default.a.20260101T000000.000Z/complete"
        assert http.post(path, json={"succeeded": True}).status_code == 404


class TestForeignRecords:
    @pytest.mark.parametrize("topic", ["outcomes", "events", "dead", "jobs"])
    @pytest.mark.parametrize("value", [b"", b"rubbish", b"\x00\x00\x71\x13\x9c", None])
    def test_they_are_counted_and_passed(
        self, harness: Harness, topic: str, value: bytes | None
    ) -> None:
        name = getattr(harness.topics, topic)
        harness.cluster.producer().produce(name, b"not a key", value)
        harness.settle()
        counted = f'tocsin_records_refused_total{{topic="{name}"}} 1.0'

        assert harness.http.put("/v1/jobs/a", json=job()).status_code == 201
        assert counted in harness.http.get("/metrics").text

    def test_a_token_that_cannot_be_read_is_counted_and_lets_nobody_in(
        self, harness: Harness
    ) -> None:
        harness.cluster.producer().produce(harness.topics.access, b"digest", b"rubbish")
        harness.settle()
        counted = f'tocsin_records_refused_total{{topic="{harness.topics.access}"}} 1.0'
        assert counted in harness.http.get("/metrics").text

    @pytest.mark.parametrize("time", [-1, 2**62, 253_402_300_800_000])
    def test_b134_a_time_that_no_calendar_has_breaks_no_list(
        self, harness: Harness, run: Run, time: int
    ) -> None:
        harness.scheduler.emit(msgspec.structs.replace(run, due_time=time, emitted_time=time))

        assert read(harness, run)["due_time"] is None
        assert harness.http.get("/v1/runs").status_code == 200

    def test_b170_text_of_others_comes_back_as_text(self, harness: Harness, run: Run) -> None:
        script = "<img src=x onerror=alert(1)>"
        harness.scheduler.emit(run)
        harness.scheduler.report(run, "failed", Error(code="exception", message=script))
        harness.settle()
        answer = harness.http.get(f"/v1/runs/{run.run_id}")

        assert answer.json()["error"]["message"] == script
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


IMPOSSIBLE = ["%00", "a%00b", "default.a%00.20260101T000000.000Z", "default.a.20261301T000000.000Z"]


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_no_run_can_be_called_is_not_found(http: httpx.Client, name: str) -> None:
    asked = [
        http.get(f"/v1/runs/{name}"),
        http.post(f"/v1/runs/{name}/cancel"),
        http.post(f"/v1/runs/{name}/redrive"),
        http.post(f"/v1/runs/{name}/complete", json={"succeeded": True}),
        http.post(f"/v1/backfills/{name}/cancel"),
    ]

    assert [answer.status_code for answer in asked] == [404] * 5
