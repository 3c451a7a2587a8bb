"""`tocsin job` and `tocsin run` against a gateway over a Kafka in memory."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Tocsin
from tests.gateway.harness import Harness
from tocsin.model.keys import JobKey
from tocsin.model.runs import Error

pytestmark = pytest.mark.usefixtures("harness")


def test_a_job_is_put_with_options(tocsin: Tocsin) -> None:
    said = tocsin(
        *("job", "put", "report", "--cron", "0 7 * * MON-FRI", "--tz", "Europe/Berlin"),
        *("--url", "https://billing.example/report", "--method", "put", "--header", "X-Kind: d"),
        *("--payload", '{"format": "pdf"}', "--timeout", "2m", "--tag", "team=billing"),
        *("--max-attempts", "3", "--overlap", "allow_all", "--catch-up", "skip"),
        *("--output", "json"),
    )
    assert said.code == 0
    job = said.json
    assert job["schedule"]["cron"] == "0 7 * * MON-FRI"
    assert job["schedule"]["timezone"] == "Europe/Berlin"
    assert job["handler"] == {
        "type": "http",
        "method": "PUT",
        "url": "https://billing.example/report",
        "headers": {"X-Kind": "d"},
    }
    assert (job["payload"], job["timeout"]) == ({"format": "pdf"}, "PT2M")
    assert (job["tags"], job["retry"]["max_attempts"]) == ({"team": "billing"}, 3)
    assert (job["overlap"], job["catch_up"]["policy"]) == ("allow_all", "skip")
    assert tocsin("job", "get", "report", "--output", "json").json == job


def test_in_is_a_time_from_now(tocsin: Tocsin) -> None:
    said = tocsin("--output", "json", "job", "put", "once", "--in", "5m", "--noop", "--dry-run")
    assert said.json["schedule"].keys() >= {"at"}
    assert tocsin("job", "get", "once").code == 1


@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_file_holds_jobs_and_options_win_over_it(
    tocsin: Tocsin, folder: Path, suffix: str
) -> None:
    jobs = [
        {"job_id": name, "schedule": {"every": "PT1H"}, "handler": {"type": "noop"}, "owner": "a"}
        for name in ("one", "two")
    ]
    file = folder / f"jobs.{suffix}"
    file.write_text(json.dumps(jobs) if suffix == "json" else yaml.safe_dump(jobs))
    said = tocsin("job", "put", "-f", str(file), "--owner", "b", "--output", "json")
    assert [(job["job_id"], job["owner"]) for job in said.json] == [("one", "b"), ("two", "b")]


def test_what_get_shows_can_be_put_again(tocsin: Tocsin, hourly: str, folder: Path) -> None:
    before = tocsin("job", "get", hourly, "--output", "yaml").out
    (folder / "job.yaml").write_text(before)
    assert tocsin("job", "put", "-f", "job.yaml").code == 0
    assert yaml.safe_load(before) == tocsin("job", "get", hourly, "--output", "json").json


def test_conditions_are_kept(tocsin: Tocsin, hourly: str) -> None:
    put = ("job", "put", hourly, "--every", "2h", "--noop")
    assert tocsin(*put, "--if-absent").code == 4
    assert tocsin(*put, "--if-revision", "99").code == 4
    revision = tocsin("job", "get", hourly, "--output", "json").json["info"]["revision"]
    assert tocsin(*put, "--if-revision", str(revision)).code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--cron", "99 * * * *", "--noop"), "/schedule/cron"),
        (("--every", "1h", "--at", "2026-01-01T00:00:00Z", "--noop"), "one schedule"),
        (("--in", "soon", "--noop"), "--in: 'soon' is no duration"),
        (("--every", "1h", "--noop", "--url", "http://a.example"), "--noop calls nothing"),
        (("--every", "1h", "--noop", "--payload", "{"), "--payload"),
        (("--every", "1h", "--url", "http://a.example", "--header", "X"), "NAME:VALUE"),
        (("--noop", "--tz", "Europe/Berlin"), "--tz goes with"),
        (("--every", "1h"), "/handler"),
    ],
)
def test_what_is_wrong_is_named(tocsin: Tocsin, arguments: tuple[str, ...], told: str) -> None:
    said = tocsin("job", "put", "j", *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err


def test_a_file_that_is_no_job_is_named(tocsin: Tocsin, folder: Path) -> None:
    (folder / "a.yaml").write_text("- 1")
    assert "a.yaml: write a job as an object" in tocsin("job", "put", "-f", "a.yaml").err
    (folder / "b.json").write_text("{")
    assert tocsin("job", "put", "-f", "b.json").code == 2
    missing = tocsin("job", "put", "-f", "c.json")
    assert (missing.code, missing.err) == (2, "tocsin: c.json: No such file or directory\n")
    (folder / "d.json").write_text('{"handler": {"type": "noop"}}')
    assert "give JOB_ID" in tocsin("job", "put", "-f", "d.json").err


def test_jobs_are_listed_for_people_and_for_programs(tocsin: Tocsin, hourly: str) -> None:
    table = tocsin("job", "list").out.splitlines()
    assert table[0].split()[:3] == ["JOB", "PHASE", "SCHEDULE"]
    assert table[1].startswith("hourly  active  every PT1H  noop")
    assert [job["job_id"] for job in tocsin("job", "list", "--output", "json").json] == [hourly]
    assert tocsin("job", "list", "--owner", "nobody").out == "no jobs\n"
    assert tocsin("job", "list", "--owner", "nobody", "--output", "json").json == []


def test_a_limit_is_obeyed_over_pages(tocsin: Tocsin) -> None:
    for number in range(5):
        tocsin("job", "put", f"j{number}", "--every", "1h", "--noop")
    assert len(tocsin("job", "list", "--limit", "3", "--output", "json").json) == 3


def test_a_job_is_paused_resumed_and_deleted(tocsin: Tocsin, hourly: str) -> None:
    assert tocsin("job", "pause", hourly, "--note", "quiet").out == "hourly is paused\n"
    assert "quiet" in tocsin("job", "get", hourly).out
    assert tocsin("job", "resume", hourly).out == "hourly is active\n"
    assert tocsin("job", "delete", hourly).code == 0
    gone = tocsin("job", "delete", hourly)
    assert (gone.code, gone.err) == (1, "tocsin: there is no job default/hourly\n")


def test_a_tenants_jobs_are_its_own(tocsin: Tocsin, hourly: str) -> None:
    assert tocsin("job", "list", "--tenant", "acme").out == "no jobs\n"
    assert tocsin("--tenant", "acme", "job", "get", hourly).code == 1
    tocsin("job", "put", "theirs", "--every", "1h", "--noop", "--tenant", "acme")
    assert "acme/theirs" in tocsin("job", "get", "theirs", "--tenant", "acme").out


def test_a_triggered_run_is_shown_with_its_timeline(
    tocsin: Tocsin, hourly: str, harness: Harness
) -> None:
    triggered = tocsin("job", "trigger", hourly, "--payload", "1", "--output", "json").json
    harness.settle()
    run_id = triggered["run_id"]
    listed = tocsin("run", "list", hourly).out.splitlines()
    assert listed[0].split() == ["RUN", "START", "LATENESS", "ATTEMPT", "RESULT"]
    assert listed[1].split() == [run_id, "1/5", "pending"]
    shown = tocsin("run", "get", run_id)
    assert shown.code == 0
    assert "attempt 1 handed to the workers" in shown.out
    assert tocsin("run", "list", "--status", "dead").out == "no runs\n"
    assert (
        tocsin("run", "list", "--until", triggered["scheduled_time"], "--output", "json").json == []
    )


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_programs_read_times_as_the_api_writes_them(
    tocsin: Tocsin, harness: Harness, hourly: str, output: str
) -> None:
    run_id = tocsin("job", "trigger", hourly, "--output", "json").json["run_id"]
    said = yaml.safe_load(tocsin("run", "get", run_id, "--output", output).out)
    answered = harness.http.get(f"/v1/runs/{run_id}").json()
    times = [name for name in answered if name.endswith("_time")]

    assert {name: said[name] for name in times} == {name: answered[name] for name in times}
    assert said["scheduled_time"].endswith(".000Z")


def test_text_of_others_is_no_markup(tocsin: Tocsin, harness: Harness, hourly: str) -> None:
    """An error, or a diff, may have brackets, colons and a terminal's commands in it."""
    odd = "no [/tmp/x] here, [bold]ask[/] :warning:"
    shown = f"{odd} \\x1b[2J\\x07"
    run = harness.scheduler.run_of(JobKey("default", hourly), harness.cluster.clock.now_ms())
    harness.scheduler.emit(run)
    error = Error(code="exception", message=f"{odd} \x1b[2J\x07")
    harness.scheduler.report(run, "failed", error)
    harness.settle()
    put = ("job", "put", hourly, "--every", "1h", "--noop", "--description", error.message)

    assert shown in tocsin("run", "list").out
    assert shown in tocsin("run", "get", run.run_id).out
    assert odd in tocsin(*put, "--diff").out
    assert shown in tocsin("job", "get", hourly).out


def test_a_run_that_does_not_end_in_time_is_a_negative_answer(tocsin: Tocsin, hourly: str) -> None:
    said = tocsin("job", "trigger", hourly, "--wait", "0")
    assert said.code == 1
    assert "after 0 s" in said.err


def test_a_trigger_that_is_skipped_says_why(tocsin: Tocsin, hourly: str, harness: Harness) -> None:
    harness.scheduler.busy.add(JobKey("default", hourly))
    said = tocsin("job", "trigger", hourly)
    assert said.code == 0
    assert " skipped: " in said.out


def test_a_run_is_cancelled(tocsin: Tocsin, hourly: str, harness: Harness) -> None:
    run_id = tocsin("job", "trigger", hourly, "--output", "json").json["run_id"]
    harness.settle()
    assert tocsin("run", "cancel", run_id).out == f"cancelling {run_id}\n"


@pytest.mark.parametrize("command", ["get", "cancel"])
def test_a_run_that_is_not_known_is_a_negative_answer(tocsin: Tocsin, command: str) -> None:
    said = tocsin("run", command, "default.j.20260101T000000.000Z")
    assert said.code == 1
    assert "there is no run" in said.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(("--status", "lost"), "write one of pending"), (("--since", "later"), "how long ago")],
)
def test_a_wrong_filter_is_named(tocsin: Tocsin, arguments: tuple[str, ...], told: str) -> None:
    said = tocsin("run", "list", *arguments)
    assert said.code == 2
    assert told in said.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("job", "get", "a/b"), "job_id 'a/b'"),
        (("run", "get", "../jobs"), "run_id '../jobs'"),
        (("job", "list", "--tenant", "a/b"), "--tenant: tenant 'a/b'"),
        (("job", "list", "--tenant", "\u00fc"), "--tenant: tenant"),
        (("job", "list", "--owner", "\udcff"), "is not text in UTF-8"),
        (("job", "list", "--tag", "\udcff"), "is not text in UTF-8"),
        (("job", "get", "\udcff"), "job_id"),
        (("job", "pause", "j", "--note", "\udcff"), "is not text in UTF-8"),
        (("job", "put", "j", "--every", "1h", "--noop", "--description", "\udcff"), "not UTF-8"),
        (("job", "put", "j", "--every", "1h", "--noop", "--payload", "\udcff"), "not UTF-8"),
        (("job", "trigger", "j", "--payload", '{"a": NaN}'), "NaN is not JSON"),
        (("job", "trigger", "j", "--payload", '{"a": 1, "a": 2}'), "'a' twice"),
        (("run", "complete", "x", "--result", "[NaN]"), "NaN is not JSON"),
    ],
)
def test_what_cannot_be_sent_is_told(tocsin: Tocsin, arguments: tuple[str, ...], told: str) -> None:
    said = tocsin(*arguments)

    assert said.code == 2
    assert told in said.err
