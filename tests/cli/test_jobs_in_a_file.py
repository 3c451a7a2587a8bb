"""Jobs that live in a file: what changes, and making it so."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tocsin
from tests.gateway.harness import Harness
from tocsin.client import Client, Job, Unreachable

JOBS = """
- job_id: a
  tags: {team: x}
  schedule: {every: PT1H}
  handler: {type: noop}
- job_id: b
  tags: {team: x}
  schedule: {cron: "0 7 * * *"}
  handler: {type: noop}
"""


@pytest.fixture
def file(folder: Path, harness: Harness) -> Path:
    """Two jobs of the team x, written and stored."""
    path = folder / "jobs.yaml"
    path.write_text(JOBS)
    return path


def listed(tocsin: Tocsin, *options: str) -> list[str]:
    return [job["job_id"] for job in tocsin("job", "list", "--output", "json", *options).json]


def put(tocsin: Tocsin, *options: str) -> dict[str, str]:
    """What became of each job."""
    said = tocsin("job", "put", "-f", "jobs.yaml", "--output", "json", *options)
    assert said.code == 0, said.err
    return {change["job_id"]: change["action"] for change in said.json}


def test_the_same_file_again_changes_nothing(tocsin: Tocsin, file: Path) -> None:
    assert put(tocsin, "--diff") == {"a": "create", "b": "create"}
    assert put(tocsin, "--diff") == {"a": "keep", "b": "keep"}


def test_a_diff_shows_the_fields_that_change(tocsin: Tocsin, file: Path) -> None:
    put(tocsin, "--diff")
    file.write_text(JOBS.replace("PT1H", "PT2H"))
    said = tocsin("job", "put", "-f", "jobs.yaml", "--diff", "--dry-run")

    assert "-  every: PT1H" in said.out
    assert "+  every: PT2H" in said.out
    assert "0 to create, 1 to update, 0 to delete, 1 to keep" in said.out
    assert put(tocsin, "--diff") == {"a": "update", "b": "keep"}


def test_a_pause_is_no_difference(tocsin: Tocsin, file: Path) -> None:
    put(tocsin, "--diff")
    tocsin("job", "pause", "a")

    assert put(tocsin, "--diff") == {"a": "keep", "b": "keep"}
    assert listed(tocsin, "--status", "paused") == ["a"]


def test_a_status_that_the_file_names_is_a_difference(tocsin: Tocsin, file: Path) -> None:
    file.write_text(JOBS.replace("job_id: a", "job_id: a\n  status: paused"))

    assert put(tocsin, "--diff") == {"a": "create", "b": "create"}
    assert listed(tocsin, "--status", "paused") == ["a"]
    tocsin("job", "resume", "a")
    assert put(tocsin, "--diff") == {"a": "update", "b": "keep"}
    assert listed(tocsin, "--status", "paused") == ["a"]
    file.write_text(JOBS.replace("job_id: a", "job_id: a\n  status: active"))
    assert put(tocsin, "--diff") == {"a": "update", "b": "keep"}
    assert listed(tocsin, "--status", "paused") == []


def test_dates_of_yaml_are_the_text_that_stands_there(tocsin: Tocsin, file: Path) -> None:
    file.write_text(
        "job_id: a\nschedule: {at: 2030-06-01T09:00:00Z}\nhandler: {type: noop}\n"
        "payload: {day: 2026-01-01, at: 2026-01-01 09:00:00}\n"
    )
    tocsin("job", "put", "-f", "jobs.yaml")
    job = tocsin("job", "get", "a", "--output", "json").json

    assert job["schedule"]["at"] == "2030-06-01T09:00:00Z"
    assert job["payload"] == {"day": "2026-01-01", "at": "2026-01-01 09:00:00"}


def test_every_document_of_a_file_is_read(tocsin: Tocsin, file: Path) -> None:
    first, second = JOBS.split("- job_id: b")
    file.write_text(f"\ufeff{first}---\n- job_id: b{second}---\n")

    assert put(tocsin, "--diff") == {"a": "create", "b": "create"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "write a job as an object"),
        ("5", "write a job as an object"),
        ("- 5", "write a job as an object"),
        (JOBS.replace("job_id: b", "job_id: a"), "a stands in the file 2 times"),
        ("job_id: a\npool: x\npool: y\n", "'pool' twice in one mapping"),
        ("job_id: a\npayload: {x: .nan}\n", "a: payload.x: nan is not JSON"),
        ("job_id: a\npayload: !!binary aGk=\n", "a: payload: bytes is not JSON"),
        ("job_id: a\npayload: &x [*x]\n", "more than 64 levels"),
        ('job_id: a\npayload: "\\ud800"\n', "half of a surrogate pair"),
    ],
)
def test_a_file_that_says_no_jobs_is_refused(
    tocsin: Tocsin, file: Path, text: str, why: str
) -> None:
    file.write_text(text)
    said = tocsin("job", "put", "-f", "jobs.yaml", "--prune", "team=x")

    assert said.code == 2
    assert why in said.err


def test_the_same_mapping_may_be_merged_into_two_jobs(tocsin: Tocsin, file: Path) -> None:
    file.write_text(
        "- &common {job_id: a, pool: x, schedule: {every: PT1H}, handler: {type: noop}}\n"
        "- {<<: *common, job_id: b, pool: y}\n"
    )

    assert put(tocsin, "--diff") == {"a": "create", "b": "create"}


def test_what_is_gone_from_the_file_goes_within_its_tag(tocsin: Tocsin, file: Path) -> None:
    put(tocsin, "--diff")
    tocsin("job", "put", "other", "--every", "1h", "--noop", "--tag", "team=y")
    file.write_text(JOBS[: JOBS.index("- job_id: b")])
    tried = put(tocsin, "--prune", "team=x", "--dry-run")

    assert tried == {"a": "keep", "b": "delete"}
    assert listed(tocsin) == ["a", "b", "other"]
    put(tocsin, "--prune", "team=x")
    assert listed(tocsin) == ["a", "other"]


def test_a_job_without_the_tag_stops_a_prune(tocsin: Tocsin, file: Path) -> None:
    file.write_text(JOBS.replace("tags: {team: x}\n", "tags: {}\n", 1))
    said = tocsin("job", "put", "-f", "jobs.yaml", "--prune", "team=x")

    assert said.code == 2
    assert "a does not have this tag" in said.err
    assert listed(tocsin) == []


def test_the_file_says_whose_jobs_are_meant(tocsin: Tocsin, file: Path) -> None:
    file.write_text(JOBS.replace("job_id: a", "job_id: a\n  tenant: acme"))
    put(tocsin, "--diff")

    assert listed(tocsin) == []
    assert listed(tocsin, "--tenant", "acme") == ["a", "b"]
    assert tocsin("job", "put", "-f", "jobs.yaml", "--diff", "--tenant", "other").code == 2


def test_the_file_says_so_also_where_it_is_just_put(tocsin: Tocsin, file: Path) -> None:
    file.write_text(JOBS.replace("job_id: a", "job_id: a\n  tenant: acme"))
    assert tocsin("job", "put", "-f", "jobs.yaml").code == 0

    assert listed(tocsin) == []
    assert listed(tocsin, "--tenant", "acme") == ["a", "b"]
    assert tocsin("job", "put", "-f", "jobs.yaml", "--tenant", "other").code == 2


@pytest.mark.parametrize("options", [(), ("--diff",)])
def test_what_fails_in_the_middle_says_how_far_it_came(
    tocsin: Tocsin, file: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    put = Client.put

    def fails_at_b(
        self: Client, job_id: str, *rest: Any, dry_run: bool = False, **more: Any
    ) -> Job:
        if job_id == "b" and not dry_run:
            raise Unreachable("the gateway does not answer")
        return put(self, job_id, *rest, dry_run=dry_run, **more)

    monkeypatch.setattr(Client, "put", fails_at_b)
    said = tocsin("job", "put", "-f", "jobs.yaml", *options)

    assert said.code == 3
    assert "1 of 2 are done; then: the gateway does not answer" in said.err
    assert listed(tocsin) == ["a"]


def test_a_wrong_job_stops_all(tocsin: Tocsin, file: Path) -> None:
    file.write_text(JOBS.replace("0 7 * * *", "0 25 * * *"))
    said = tocsin("job", "put", "-f", "jobs.yaml", "--diff")

    assert said.code == 2
    assert "/schedule/cron" in said.err
    assert listed(tocsin) == []
