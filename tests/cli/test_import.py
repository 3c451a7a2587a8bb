"""`tocsin import`: a file in, jobs.yaml out, and what did not carry over."""

from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import Tocsin

CRONTAB = "0 7 * * * /opt/report\n@reboot /opt/start\n"


@pytest.fixture
def crontab(folder: Path) -> str:
    (folder / "crontab").write_text(CRONTAB)
    return "crontab"


def test_jobs_are_written_and_the_rest_is_listed(
    tocsin: Tocsin, crontab: str, folder: Path
) -> None:
    said = tocsin("import", "crontab", crontab, "--tz", "Europe/Berlin")
    (job,) = yaml.safe_load((folder / "jobs.yaml").read_text())

    assert said.code == 1
    assert "line 2" in said.out
    assert "@reboot" in said.out
    assert (job["job_id"], job["schedule"]["timezone"]) == ("report", "Europe/Berlin")


def test_a_file_is_not_written_over_by_chance(tocsin: Tocsin, crontab: str, folder: Path) -> None:
    (folder / "jobs.yaml").write_text("mine")
    refused = tocsin("import", "crontab", crontab)
    assert (refused.code, (folder / "jobs.yaml").read_text()) == (2, "mine")
    assert "--force" in refused.err
    tocsin("import", "crontab", crontab, "--force", "--shadow")

    assert yaml.safe_load((folder / "jobs.yaml").read_text())[0]["handler"] == {"type": "noop"}


def test_standard_output_has_the_jobs_alone(tocsin: Tocsin, crontab: str) -> None:
    said = tocsin("import", "crontab", crontab, "--to", "-")

    assert [job["job_id"] for job in yaml.safe_load(said.out)] == ["report"]
    assert "@reboot" in said.err


def test_programs_read_what_did_not_carry_over(tocsin: Tocsin, crontab: str) -> None:
    answer = tocsin("import", "crontab", crontab, "--output", "json").json

    assert answer["jobs"] == 1
    assert [lost["where"] for lost in answer["not_carried_over"]] == ["line 2"]


@pytest.mark.parametrize("kind", ["k8s", "quartz"])
def test_another_kind_of_file_is_refused(tocsin: Tocsin, crontab: str, kind: str) -> None:
    said = tocsin("import", kind, crontab)

    assert said.code == 2
    assert said.err.startswith("tocsin: crontab: ")
