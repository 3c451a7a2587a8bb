"""One command for many: first the count, then the deed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tests.gateway.test_operations import died
from tocsin.model.keys import JobKey
from tocsin.model.runs import Run
from tocsin_gateway.commands import bulk_commands
from tocsin_gateway.commands.errors import NotDurable
from tocsin_gateway.commands.job_batches import JobBatches
from tocsin_gateway.commands.run_commands import RunCommands

AT = 1_790_000_000_000
TEAM_X = {"tag": "team:x"}


@pytest.fixture
def jobs(http: httpx.Client) -> httpx.Client:
    """Three jobs of the team x, and one of y."""
    for name, team in (("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")):
        http.put(f"/v1/jobs/{name}", json=job(tags={"team": team}))
    return http


def bulk(http: httpx.Client, what: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = http.post(f"/v1/{what}:bulk", json=body)
    return answer.status_code, answer.json()


def listed(http: httpx.Client, **query: str) -> list[str]:
    return [each["job_id"] for each in http.get("/v1/jobs", params=query).json()["items"]]


class TestJobs:
    def test_without_an_expectation_they_are_counted(self, jobs: httpx.Client) -> None:
        assert bulk(jobs, "jobs", action="delete", filter=TEAM_X) == (200, {"matched": 3})
        assert bulk(jobs, "jobs", action="delete", filter={}) == (200, {"matched": 4})
        assert len(listed(jobs)) == 4

    def test_what_was_counted_is_done(self, jobs: httpx.Client) -> None:
        done = bulk(jobs, "jobs", action="pause", filter=TEAM_X, expect=3)

        assert done == (200, {"matched": 3, "done": 3, "refused": []})
        assert listed(jobs, status="paused") == ["a", "b", "c"]
        bulk(jobs, "jobs", action="resume", filter={"status": "paused"}, expect=3)
        assert listed(jobs, status="paused") == []
        bulk(jobs, "jobs", action="delete", filter={"q": "A"}, expect=1)
        assert listed(jobs) == ["b", "c", "d"]

    def test_another_number_is_a_conflict(self, jobs: httpx.Client) -> None:
        status, problem = bulk(jobs, "jobs", action="delete", filter=TEAM_X, expect=2)

        assert (status, problem["type"]) == (409, "/problems/count")
        assert len(listed(jobs)) == 4

    def test_slices_lead_on_from_one_another(self, jobs: httpx.Client) -> None:
        """Whoever asks for a few at a time sees it come along, and can go on after a crash."""
        asked: dict[str, Any] = {"action": "pause", "filter": {}, "limit": 3}
        _, first = bulk(jobs, "jobs", **asked, expect=4)
        status, _ = bulk(jobs, "jobs", **asked, expect=4, cursor=first["next_cursor"])
        _, second = bulk(jobs, "jobs", **asked, expect=1, cursor=first["next_cursor"])

        assert (first["matched"], first["done"], first["left"]) == (4, 3, 1)
        assert status == 409
        assert second == {"matched": 1, "done": 1, "refused": []}
        assert len(listed(jobs, status="paused")) == 4

    def test_what_is_so_already_is_left_alone(self, jobs: httpx.Client) -> None:
        jobs.post("/v1/jobs/a/pause", json={"note": "mine"})
        before = jobs.get("/v1/jobs/a").json()
        done = bulk(jobs, "jobs", action="pause", filter=TEAM_X, expect=3)

        assert done[1]["done"] == 3
        assert jobs.get("/v1/jobs/a").json() == before

    def test_the_tenants_own_alone_are_meant(self, jobs: httpx.Client) -> None:
        answer = jobs.post(
            "/v1/jobs:bulk",
            json={"action": "delete", "filter": {}},
            headers={"Tocsin-Tenant": "acme"},
        )

        assert answer.json() == {"matched": 0}

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"filter": {}}, "/action"),
            ({"action": "pause"}, "/filter"),
            ({"action": "cancel", "filter": {}}, "/action"),
            ({"action": "pause", "filter": {"tags": "x"}}, "/filter/tags"),
            ({"action": "pause", "filter": {"status": "on"}}, "/filter/status"),
            ({"action": "pause", "filter": {"tag": [1]}}, "/filter/tag"),
            ({"action": "pause", "filter": {}, "expect": "all"}, "/expect"),
            ({"action": "pause", "filter": {}, "force": True}, "/force"),
            ({"action": "pause", "filter": {}, "limit": 0}, "/limit"),
            ({"action": "pause", "filter": {}, "cursor": "W10"}, "/cursor"),
        ],
    )
    def test_what_is_wrong_is_named(
        self, http: httpx.Client, body: dict[str, Any], pointer: str
    ) -> None:
        status, problem = bulk(http, "jobs", **body)

        assert status == 422
        assert [error["pointer"] for error in problem["errors"]] == [pointer]


@pytest.mark.parametrize("action", ["pause", "delete"])
def test_a_job_that_others_change_meanwhile_is_dealt_with_as_it_stands_then(
    harness: Harness, jobs: httpx.Client, action: str
) -> None:
    """Its command was for a revision that is past when it comes to stand in the log."""
    request = jobs.build_request(
        "POST", "/v1/jobs:bulk", json={"action": action, "filter": TEAM_X, "expect": 3}
    )
    other = json.dumps(job(owner="other", tags={"team": "x"})).encode()
    with meanwhile(harness, JobKey("default", "b"), other):
        answer = harness.send(request)

    assert answer.json() == {"matched": 3, "done": 3, "refused": []}
    if action == "pause":
        changed = jobs.get("/v1/jobs/b").json()
        assert (changed["owner"], changed["status"]) == ("other", "paused")
    else:
        assert listed(jobs) == ["d"]


@contextmanager
def meanwhile(harness: Harness, key: JobKey, command: bytes) -> Iterator[None]:
    """Somebody writes that command just before the gateway's next one for the job."""
    producer, other = harness.gateway.producer, harness.cluster.producer()
    send, left = producer.send, [command]

    def send_after(topic: str, name: bytes, *rest: Any, **further: Any) -> Any:
        if topic == harness.topics.jobs and name == str(key).encode() and left:
            other.produce(topic, name, left.pop())
        return send(topic, name, *rest, **further)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(producer, "send", send_after)
        yield


def test_b154_where_kafka_goes_away_it_says_how_far_it_came(tmp_path: Path) -> None:
    hasty = msgspec.structs.replace(PATIENT, durable_timeout=0.05)
    with Harness(tmp_path, hasty) as harness:
        harness.http.put("/v1/jobs/a", json=job())
        harness.kafka_acknowledges = False
        status, problem = bulk(harness.http, "jobs", action="delete", filter={}, expect=1)

        assert (status, problem["type"]) == (503, "/problems/not-durable")
        assert problem["detail"].startswith("0 of 1 are done")
        assert problem["done"] == 0


def test_where_kafka_goes_away_between_batches_those_before_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_commands, "_BATCH", 2)
    with Harness(tmp_path) as harness:
        for name in "abcd":
            harness.http.put(f"/v1/jobs/{name}", json=job())
        act, batches = JobBatches.act, list[object]()

        async def fails_at_the_second(self: JobBatches, *asked: Any) -> Any:
            batches.append(asked)
            if len(batches) == 2:
                raise NotDurable("Kafka has not acknowledged")
            return await act(self, *asked)

        monkeypatch.setattr(JobBatches, "act", fails_at_the_second)
        status, problem = bulk(harness.http, "jobs", action="delete", filter={}, expect=4)

        assert (status, problem["done"]) == (503, 2)
        assert listed(harness.http) == ["c", "d"]


def slowly(monkeypatch: pytest.MonkeyPatch, harness: Harness, owner: type, name: str) -> None:
    """Each call of that takes longer than anybody waits."""
    act = getattr(owner, name)

    async def act_slowly(*asked: Any) -> Any:
        harness.cluster.clock.advance(21_000)
        return await act(*asked)

    monkeypatch.setattr(owner, name, act_slowly)


def test_what_takes_long_is_answered_in_time_and_gone_on_with(
    harness: Harness, jobs: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_commands, "_BATCH", 3)
    slowly(monkeypatch, harness, JobBatches, "act")
    _, first = bulk(jobs, "jobs", action="pause", filter={}, expect=4)
    paused = listed(jobs, status="paused")
    _, second = bulk(
        jobs,
        "jobs",
        action="pause",
        filter={},
        expect=first["left"],
        cursor=first["next_cursor"],
    )

    assert (first["done"], first["left"], paused) == (3, 1, ["a", "b", "c"])
    assert second == {"matched": 1, "done": 1, "refused": []}


class TestRuns:
    @pytest.fixture
    def runs(self, harness: Harness, jobs: httpx.Client) -> list[Run]:
        """Two runs of the job a, of which the second is dead, and one of d."""
        found = [
            harness.scheduler.run_of(JobKey("default", name), at)
            for name, at in (("a", AT), ("a", AT + 1), ("d", AT))
        ]
        for run in found:
            harness.scheduler.emit(run)
        died(harness, found[1])
        return found

    def test_unfinished_ones_are_cancelled(self, harness: Harness, runs: list[Run]) -> None:
        assert bulk(harness.http, "runs", action="cancel", filter={}) == (200, {"matched": 2})
        status, done = bulk(harness.http, "runs", action="cancel", filter=TEAM_X, expect=1)
        harness.settle()

        assert (status, done["done"]) == (200, 1)
        assert harness.http.get(f"/v1/runs/{runs[0].run_id}").json()["status"] == "cancelled"
        assert harness.http.get(f"/v1/runs/{runs[2].run_id}").json()["status"] == "pending"

    def test_dead_ones_are_redriven(self, harness: Harness, runs: list[Run]) -> None:
        asked = {"action": "redrive", "filter": {"job_id": "a"}}
        assert bulk(harness.http, "runs", **asked) == (200, {"matched": 1})
        bulk(harness.http, "runs", **asked, expect=1)
        harness.settle()

        redriven = harness.http.get(f"/v1/runs/{runs[1].run_id}").json()
        assert (redriven["status"], redriven["attempt"]) == ("pending", 2)

    def test_slices_go_from_the_oldest_on(self, harness: Harness, runs: list[Run]) -> None:
        asked: dict[str, Any] = {"action": "cancel", "filter": {}, "limit": 1}
        _, first = bulk(harness.http, "runs", **asked, expect=2)
        _, second = bulk(harness.http, "runs", **asked, expect=1, cursor=first["next_cursor"])
        harness.settle()

        assert second == {"matched": 1, "done": 1, "refused": []}
        stand = [harness.http.get(f"/v1/runs/{run.run_id}").json()["status"] for run in runs]
        assert stand == ["cancelled", "dead", "cancelled"]

    def test_what_takes_long_is_answered_in_time(
        self, harness: Harness, runs: list[Run], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bulk_commands, "_AT_ONCE", 1)
        slowly(monkeypatch, harness, RunCommands, "cancel")
        asked: dict[str, Any] = {"action": "cancel", "filter": {}}
        _, first = bulk(harness.http, "runs", **asked, expect=2)
        _, second = bulk(harness.http, "runs", **asked, expect=1, cursor=first["next_cursor"])

        assert (first["done"], first["left"]) == (1, 1)
        assert second == {"matched": 1, "done": 1, "refused": []}

    def test_a_status_narrows_what_can_be_acted_on(self, harness: Harness, runs: list[Run]) -> None:
        both = {"status": ["dead", "running"]}

        assert bulk(harness.http, "runs", action="cancel", filter=both)[1] == {"matched": 0}
        assert bulk(harness.http, "runs", action="redrive", filter=both)[1] == {"matched": 1}
        assert bulk(harness.http, "runs", action="redrive", filter={"status": "pending"})[1] == {
            "matched": 0
        }
