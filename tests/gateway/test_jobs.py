"""Jobs over the API: what is written is read, and the log decides between writers."""

import json
from pathlib import Path

import httpx
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.wire.headers import condition_header


def test_put_creates_and_get_reads_the_same(http: httpx.Client) -> None:
    created = http.put("/v1/jobs/a", json=job(tags={"team": "x"}, payload={"n": [1, None]}))
    read = http.get("/v1/jobs/a")

    assert (created.status_code, read.status_code) == (201, 200)
    assert created.headers["Location"] == "/v1/jobs/a"
    assert created.headers["ETag"] == read.headers["ETag"] == '"0"'
    assert created.json() == read.json()
    assert read.json()["payload"] == {"n": [1, None]}
    assert read.json()["info"]["phase"] == "active"


def test_get_then_put_changes_nothing_and_keeps_the_revision(http: httpx.Client) -> None:
    http.put("/v1/jobs/a", json=job(schedule={"every": 10}))
    read = http.get("/v1/jobs/a").json()
    again = http.put("/v1/jobs/a", json=read)

    assert again.status_code == 200
    assert again.json() == read


def test_replacing_raises_the_revision_and_keeps_the_creation_time(harness: Harness) -> None:
    first = harness.http.put("/v1/jobs/a", json=job()).json()["info"]
    harness.cluster.clock.advance(5_000)
    second = harness.http.put("/v1/jobs/a", json=job(owner="me")).json()["info"]

    assert second["revision"] > first["revision"]
    assert second["created_at"] == first["created_at"] == "2026-01-01T00:00:00.000Z"
    assert second["updated_at"] == "2026-01-01T00:00:05.000Z"


def test_post_names_the_job_where_the_caller_does_not(http: httpx.Client) -> None:
    one, other = (http.post("/v1/jobs", json=job()).json()["job_id"] for _ in range(2))

    assert one != other
    assert http.get(f"/v1/jobs/{one}").status_code == 200


def test_post_of_a_job_that_exists_is_a_conflict(http: httpx.Client) -> None:
    http.post("/v1/jobs", json=job(job_id="a"))
    again = http.post("/v1/jobs", json=job(job_id="a", owner="other"))

    assert (again.status_code, again.json()["type"]) == (409, "/problems/exists")
    assert http.get("/v1/jobs/a").json()["owner"] is None


def test_a_dry_run_answers_and_writes_nothing(http: httpx.Client) -> None:
    created = http.put("/v1/jobs/a?dry_run=true", json=job())
    wrong = http.put("/v1/jobs/a?dry_run=true", json=job(pool="A B"))

    assert (created.status_code, wrong.status_code) == (201, 422)
    assert http.get("/v1/jobs/a").status_code == 404


def test_delete_removes_the_job_and_keeps_its_history(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    harness.http.post("/v1/jobs/a/trigger")

    assert harness.http.delete("/v1/jobs/a").status_code == 204
    assert harness.http.get("/v1/jobs/a").status_code == 404
    assert harness.http.delete("/v1/jobs/a").status_code == 404
    assert len(harness.http.get("/v1/jobs/a/runs").json()["items"]) == 1


def test_b086_a_job_deleted_and_created_again_is_a_new_job(harness: Harness) -> None:
    first = harness.http.put("/v1/jobs/a", json=job()).json()["info"]
    harness.cluster.clock.advance(10)
    harness.http.delete("/v1/jobs/a")
    second = harness.http.put("/v1/jobs/a", json=job())

    assert second.status_code == 201
    assert second.json()["info"]["created_at"] > first["created_at"]


class TestConditions:
    def test_if_match_of_the_present_revision_writes(self, http: httpx.Client) -> None:
        tag = http.put("/v1/jobs/a", json=job()).headers["ETag"]
        written = http.put("/v1/jobs/a", json=job(owner="me"), headers={"If-Match": tag})

        assert written.status_code == 200

    @pytest.mark.parametrize("tag", ['"999"', '"0", "999"', 'W/"4"', "nonsense", '"x"'])
    def test_another_etag_writes_nothing(self, http: httpx.Client, tag: str) -> None:
        http.put("/v1/jobs/a", json=job())
        http.put("/v1/jobs/a", json=job(owner="me"))
        refused = http.put("/v1/jobs/a", json=job(owner="you"), headers={"If-Match": tag})

        assert (refused.status_code, refused.json()["type"]) == (412, "/problems/revision")
        assert http.get("/v1/jobs/a").json()["owner"] == "me"

    def test_if_none_match_creates_once(self, http: httpx.Client) -> None:
        once = {"If-None-Match": "*"}

        assert http.put("/v1/jobs/a", json=job(), headers=once).status_code == 201
        assert http.put("/v1/jobs/a", json=job(), headers=once).status_code == 412

    def test_if_match_star_needs_a_job(self, http: httpx.Client) -> None:
        star = {"If-Match": "*"}

        assert http.put("/v1/jobs/a", json=job(), headers=star).status_code == 412
        http.put("/v1/jobs/a", json=job())
        assert http.put("/v1/jobs/a", json=job(owner="me"), headers=star).status_code == 200

    def test_delete_of_another_revision_deletes_nothing(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job())

        assert http.delete("/v1/jobs/a", headers={"If-Match": '"77"'}).status_code == 412
        assert http.get("/v1/jobs/a").status_code == 200

    def test_a_change_of_another_revision_changes_nothing(self, http: httpx.Client) -> None:
        old = http.put("/v1/jobs/a", json=job()).headers["ETag"]
        http.put("/v1/jobs/a", json=job(owner="me"))
        for tag in (old, '"77"'):
            refused = http.patch("/v1/jobs/a", json={"owner": "you"}, headers={"If-Match": tag})

            assert (refused.status_code, refused.json()["type"]) == (412, "/problems/revision")
        assert http.get("/v1/jobs/a").json()["owner"] == "me"

    def test_get_of_a_known_revision_sends_no_body(self, http: httpx.Client) -> None:
        tag = http.put("/v1/jobs/a", json=job()).headers["ETag"]
        read = http.get("/v1/jobs/a", headers={"If-None-Match": tag})

        assert (read.status_code, read.content) == (304, b"")

    def test_both_conditions_make_no_sense(self, http: httpx.Client) -> None:
        both = {"If-Match": '"0"', "If-None-Match": "*"}

        assert http.put("/v1/jobs/a", json=job(), headers=both).status_code == 400

    def test_a_condition_on_a_revision_that_this_gateway_has_not_read_is_the_logs_to_decide(
        self, harness: Harness, tmp_path: Path
    ) -> None:
        """Another gateway gave out the ETag; this one has not come so far when it is asked."""
        harness.http.put("/v1/jobs/a", json=job())
        (tmp_path / "other").mkdir()
        with Harness(
            tmp_path / "other", PATIENT, cluster=harness.cluster, scheduler=harness.scheduler
        ) as other:
            tag = harness.http.put("/v1/jobs/a", json=job(owner="me")).headers["ETag"]
            written = other.http.put("/v1/jobs/a", json=job(owner="you"), headers={"If-Match": tag})

        assert written.status_code == 200
        assert written.json()["owner"] == "you"


class TestWhatIsLeftOutIsKept:
    def test_b093_a_deploy_does_not_resume_what_was_paused(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job())
        http.post("/v1/jobs/a/pause", json={"note": "incident 7"})
        deployed = http.put("/v1/jobs/a", json=job(owner="deploy")).json()

        assert (deployed["status"], deployed["status_note"]) == ("paused", "incident 7")
        assert deployed["owner"] == "deploy"

    def test_b072_an_interval_put_again_keeps_its_anchor(self, harness: Harness) -> None:
        first = harness.http.put("/v1/jobs/a", json=job(schedule={"every": 60})).json()
        harness.cluster.clock.advance(59_900)
        again = harness.http.put("/v1/jobs/a", json=job(schedule={"every": "PT1M"})).json()

        assert again["schedule"]["start"] == first["schedule"]["start"]
        assert again["info"]["next"] == first["info"]["next"]

    def test_another_interval_is_anchored_at_the_edit(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule={"every": 60}))
        harness.cluster.clock.advance(10_000)
        edited = harness.http.put("/v1/jobs/a", json=job(schedule={"every": 30})).json()

        assert edited["schedule"]["start"] == "2026-01-01T00:00:10Z"

    def test_the_gateway_writes_whole_definitions(self, harness: Harness) -> None:
        """Nothing is left for the scheduler to fill in, so it restates nothing."""
        harness.http.put("/v1/jobs/a", json=job(schedule={"every": 60}))
        harness.http.put("/v1/jobs/a", json=job(schedule={"every": 60}, owner="me"))
        harness.http.post("/v1/jobs/a/pause")
        restated = [
            record
            for partition in range(4)
            for record in harness.cluster.records(harness.topics.jobs, partition)
            if any(name == "tocsin-restates" for name, _ in record.headers)
        ]

        assert len(restated) == 1, "only the anchor of the new interval"


class TestPatch:
    def test_fields_are_merged_and_null_removes_one(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job(tags={"a": "1", "b": "2"}, owner="me"))
        patched = http.patch("/v1/jobs/a", json={"tags": {"a": None, "c": "3"}, "owner": None})

        assert patched.status_code == 200
        assert patched.json()["tags"] == {"b": "2", "c": "3"}
        assert patched.json()["owner"] is None

    def test_another_kind_of_schedule_needs_the_old_one_removed(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job())
        both = http.patch("/v1/jobs/a", json={"schedule": {"every": 60}})
        one = http.patch("/v1/jobs/a", json={"schedule": {"cron": None, "every": 60}})

        assert (both.status_code, one.status_code) == (422, 200)
        assert both.json()["errors"][0]["keyword"] == "kind"

    def test_b088_the_last_acknowledged_period_is_in_force(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job(schedule={"every": 8}))
        for period in ("PT3S", "PT9S", "PT2S"):
            answered = http.patch("/v1/jobs/a", json={"schedule": {"every": period}}).json()
            assert answered["schedule"]["every"] == period
            assert http.get("/v1/jobs/a").json()["schedule"]["every"] == period

    def test_the_media_type_of_merge_patches_is_taken(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job())
        patched = http.patch(
            "/v1/jobs/a",
            content=b'{"owner": "me"}',
            headers={"Content-Type": "application/merge-patch+json"},
        )

        assert patched.json()["owner"] == "me"

    def test_a_job_that_does_not_exist_cannot_be_patched(self, http: httpx.Client) -> None:
        assert http.patch("/v1/jobs/a", json={"owner": "me"}).status_code == 404

    def test_a_write_in_between_is_not_lost(self, harness: Harness) -> None:
        """Somebody else's record stands between what the gateway read and what it wrote."""
        harness.http.put("/v1/jobs/a", json=job(owner="me"))
        harness.projector_runs = False
        harness.cluster.producer().produce(
            harness.topics.jobs,
            b"default/a",
            b'{"schedule": {"cron": "0 7 * * *"}, "handler": {"type": "noop"}, "owner": "other"}',
        )
        request = harness.http.build_request("PATCH", "/v1/jobs/a", json={"tags": {"x": "y"}})
        patched = harness.send_holding_the_projector(request)

        assert patched.status_code == 200
        assert (patched.json()["owner"], patched.json()["tags"]) == ("other", {"x": "y"})


class TestPause:
    def test_b056_resume_goes_on_with_the_next_occurrence(self, harness: Harness) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule={"cron": "* * * * *"}))
        paused = harness.http.post("/v1/jobs/a/pause", json={"note": "holiday"}).json()
        harness.cluster.clock.advance(3 * 3_600_000 + 1)
        resumed = harness.http.post("/v1/jobs/a/resume").json()

        assert (paused["status"], paused["info"]["phase"], paused["info"]["next"]) == (
            "paused",
            "paused",
            [],
        )
        assert (resumed["status"], resumed["status_note"]) == ("active", None)
        assert resumed["info"]["next"][0] == "2026-01-01T03:01:00.000Z"

    def test_pausing_twice_is_pausing_once(self, http: httpx.Client) -> None:
        http.put("/v1/jobs/a", json=job())
        first = http.post("/v1/jobs/a/pause", json={"note": "why"}).json()
        second = http.post("/v1/jobs/a/pause")

        assert second.status_code == 200
        assert second.json() == first


class TestOneOffs:
    @pytest.mark.parametrize("late_ms", [0, 50, 1_000, 60_000])
    def test_b098_an_instant_that_has_just_passed_is_accepted(
        self, harness: Harness, late_ms: int
    ) -> None:
        harness.cluster.clock.advance(late_ms)
        put = harness.http.put("/v1/jobs/a", json=job(schedule={"at": "2026-01-01T00:00:00Z"}))

        assert put.status_code == 201

    def test_b098_an_older_one_is_refused_by_the_same_rule(self, harness: Harness) -> None:
        harness.cluster.clock.advance(60_001)
        put = harness.http.put("/v1/jobs/a", json=job(schedule={"at": "2026-01-01T00:00:00Z"}))

        assert put.status_code == 422
        assert put.json()["errors"][0]["pointer"] == "/schedule/at"

    def test_an_old_one_off_can_still_be_described_anew(self, harness: Harness) -> None:
        one_off = job(schedule={"at": "2026-01-01T00:00:01Z"})
        harness.http.put("/v1/jobs/a", json=one_off)
        harness.let_pass(86_400_000)

        assert harness.http.put("/v1/jobs/a", json={**one_off, "owner": "me"}).status_code == 200

    @pytest.mark.parametrize(
        "at", ["2026-01-26T00:00:00.000Z", "2036-01-01T00:00:00.000Z", "9999-12-31T23:59:59.000Z"]
    )
    def test_b109_far_instants_are_listed_as_they_are(self, http: httpx.Client, at: str) -> None:
        http.put("/v1/jobs/a", json=job(schedule={"at": at}))

        assert http.get("/v1/jobs").json()["items"][0]["info"]["next"] == [at]

    def test_b172_an_instant_that_has_passed_is_not_shown_as_upcoming(
        self, harness: Harness
    ) -> None:
        harness.http.put("/v1/jobs/a", json=job(schedule={"at": "2026-01-01T00:00:01Z"}))
        harness.cluster.clock.advance(2_000)

        assert harness.http.get("/v1/jobs/a").json()["info"]["next"] == []


def test_b085_a_hundred_puts_of_one_job_leave_one_job(http: httpx.Client) -> None:
    for number in range(100):
        assert http.put("/v1/jobs/a", json=job(owner=f"client {number % 3}")).is_success

    assert [item["owner"] for item in http.get("/v1/jobs").json()["items"]] == ["client 0"]


def test_a_command_of_another_producer_is_seen(harness: Harness) -> None:
    harness.cluster.producer().produce(
        harness.topics.jobs,
        b"default/hello",
        b'{"schedule": {"every": "PT10S"}, "handler": {"type": "noop"}}',
    )
    harness.settle()
    read = harness.http.get("/v1/jobs/hello").json()

    assert (read["status"], read["schedule"]["start"]) == ("active", "2026-01-01T00:00:00Z")


@pytest.mark.parametrize("zone", ["Mars/Base", "+05:30", "../../etc/passwd", "UTC\n"])
def test_b131_a_bad_zone_of_another_producer_breaks_no_list(harness: Harness, zone: str) -> None:
    before = [harness.http.put(f"/v1/jobs/{name}", json=job()).json() for name in ("a", "c")]
    bad = job(schedule={"cron": "0 7 * * *", "timezone": zone})
    for name in (b"default/a", b"default/b"):
        harness.cluster.producer().produce(harness.topics.jobs, name, json.dumps(bad).encode())
    harness.settle()

    assert harness.http.get("/v1/jobs").json()["items"] == before
    assert harness.http.get("/v1/jobs/b").status_code == 404
    assert harness.http.get("/v1/jobs/a/preview").status_code == 200


def test_a_void_command_of_another_producer_changes_nothing(harness: Harness) -> None:
    before = harness.http.put("/v1/jobs/a", json=job()).json()
    producer = harness.cluster.producer()
    producer.produce(harness.topics.jobs, b"default/a", b"rubbish")
    producer.produce(harness.topics.jobs, b"default/a", None, headers=[condition_header(4711)])
    harness.settle()

    assert harness.http.get("/v1/jobs/a").json() == before
