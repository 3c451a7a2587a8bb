"""`tocsin run list --watch` and what the shell completes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Tocsin
from tests.gateway.harness import Harness
from tocsin.client import Run
from tocsin.model.keys import JobKey
from tocsin.timetable.instants import to_datetime
from tocsin_cli.completions import job_ids, statuses
from tocsin_cli.watching import Changes

ROOT = Path(__file__).parents[2]
KEY = JobKey("default", "hourly")


def row(number: int, status: str) -> Run:
    return Run(
        run_id=f"r{number}",
        tenant="default",
        job_id="a",
        status=status,  # type: ignore[arg-type]
        scheduled_time=to_datetime(number),
    )


looks = st.lists(
    st.dictionaries(st.integers(0, 5), st.sampled_from(["pending", "running", "succeeded"])),
    max_size=6,
)


@given(looks)
def test_lines_tell_each_change_once_and_end_with_what_is(told: list[dict[int, str]]) -> None:
    changes, before = Changes(), dict[int, str]()
    for look in told:
        newest_first = [row(number, look[number]) for number in sorted(look, reverse=True)]
        changed = changes.of(newest_first)

        assert [run.scheduled_time for run in changed] == sorted(r.scheduled_time for r in changed)
        assert {run.run_id for run in changed} == {
            f"r{number}" for number, status in look.items() if before.get(number) != status
        }
        before = look


@pytest.fixture
def two_looks(monkeypatch: pytest.MonkeyPatch, harness: Harness) -> None:
    """The first pause lets the run succeed, the second is interrupted."""
    pauses = iter([False, True])

    def pause(_seconds: float) -> None:
        if next(pauses):
            raise KeyboardInterrupt
        run = harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms())
        harness.scheduler.report(run, "succeeded")
        harness.settle()

    monkeypatch.setattr("tocsin_cli.watching.time.sleep", pause)


@pytest.mark.usefixtures("hourly", "two_looks")
def test_a_pipe_gets_a_line_for_each_change(
    tocsin: Tocsin,
    harness: Harness,
) -> None:
    harness.scheduler.emit(harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms()))
    harness.settle()
    said = tocsin("run", "list", "--watch", "--output", "json")
    lines = [json.loads(line) for line in said.out.splitlines()]

    assert said.code == 130
    assert [line["status"] for line in lines] == ["pending", "succeeded"]


@pytest.mark.usefixtures("hourly", "two_looks")
def test_lines_for_people_are_short(
    tocsin: Tocsin,
    harness: Harness,
) -> None:
    harness.scheduler.emit(harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms()))
    harness.settle()
    first, second = tocsin("run", "list", "--watch").out.splitlines()

    assert first.startswith("hourly  ")
    assert first.endswith("1/5  pending")
    assert second.endswith("1/5  succeeded")


def test_statuses_and_job_ids_are_completed(
    tocsin: Tocsin,
    hourly: str,
) -> None:
    tocsin("job", "put", "other", "--every", "1h", "--noop")

    assert statuses("s") == ["succeeded", "skipped"]
    assert job_ids("hou") == [hourly]
    assert job_ids("") == [hourly, "other"]


def test_without_a_gateway_nothing_is_offered_and_nothing_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TOCSIN_GATEWAY_URL", "http://127.0.0.1:1")
    assert job_ids("") == []
    monkeypatch.setenv("TOCSIN_GATEWAY_URL", "nonsense")
    assert job_ids("") == []
    assert capsys.readouterr().err == ""


def test_a_shell_is_told_the_commands() -> None:
    asked = subprocess.run(
        [sys.executable, "-m", "tocsin_cli"],
        env={
            "PYTHONPATH": f"{ROOT / 'libs'}:{ROOT / 'services'}",
            "_TOCSIN_COMPLETE": "complete_bash",
            "COMP_WORDS": "tocsin run l",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert asked.stdout.split() == ["list"]
