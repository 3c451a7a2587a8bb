"""Runs as they happen."""

import io
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console
from rich.live import Live

from tocsin.client.models import Attempt, Event, Run, RunDetail, RunError
from tocsin_cli.run_views import timeline
from tocsin_cli.stack.board import Lines, LiveTable, board

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
TICK = Run(
    run_id="default.tick.20260501T120000.000Z",
    tenant="default",
    job_id="tick",
    status="pending",
    scheduled_time=NOON,
    attempt=1,
    max_attempts=5,
)


def test_a_line_tells_each_failed_start_and_the_end_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = Lines()
    error = RunError(code="http_status", message="answered 503")
    failed = replace(TICK, status="retrying", error=error)
    second = replace(TICK, status="running", attempt=2)
    done = replace(TICK, status="succeeded", attempt=2, lateness_ms=7)
    for run in (TICK, failed, failed, second, done, done):
        lines.show([run])
    told = [line.split(maxsplit=2)[2] for line in capsys.readouterr().out.splitlines()]
    assert [line.split() for line in told] == [
        ["1/5", "retrying:", "http_status,", "answered", "503"],
        ["7", "ms", "2/5", "succeeded"],
    ]


def test_a_slot_of_a_backfill_is_not_late(capsys: pytest.CaptureFixture[str]) -> None:
    late = replace(TICK, status="succeeded", attempt=1, lateness_ms=-9_000_000, cause="backfill")
    Lines().show([late])
    assert capsys.readouterr().out.split()[2:] == ["1/5", "succeeded"]


def test_older_runs_come_first_in_lines(capsys: pytest.CaptureFixture[str]) -> None:
    newer = replace(TICK, run_id="2", job_id="newer", status="succeeded")
    Lines().show([newer, replace(TICK, status="succeeded")])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["tick", "newer"]


def test_a_note_is_told_until_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    for note in ("away", "away", None, "away"):
        lines.show([], note)
    assert capsys.readouterr().out == "away\naway\n"


def test_away_from_a_terminal_the_footer_is_printed_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with board("look here") as shown:
        shown.show([])
        shown.show([])
    assert capsys.readouterr().out == "look here\n"


def test_a_live_table_fits_the_terminal_with_its_footer() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=12)
    runs = [replace(TICK, run_id=str(n), job_id=f"job-{n}", status="succeeded") for n in range(50)]
    with Live(console=console, auto_refresh=False) as live:
        LiveTable(live, "one\ntwo").show(runs)
        lines = out.getvalue().rstrip().splitlines()
    assert len(lines) <= 12
    assert "job-0" in lines[1]
    assert lines[-1].startswith("two")


instants = st.integers(0, 100).map(lambda seconds: NOON + timedelta(seconds=seconds))
attempts = st.builds(
    Attempt,
    attempt=st.integers(1, 5),
    status=st.just("failed"),
    worker=st.just("w"),
    emitted_time=st.none() | instants,
    started_time=st.none() | instants,
    finished_time=st.none() | instants,
)
events = st.builds(Event, type=st.just("dead"), time=instants, reason=st.text(max_size=3))


@given(st.lists(attempts, max_size=4), st.lists(events, max_size=4))
def test_a_timeline_holds_every_known_instant_in_order(
    of_attempts: list[Attempt], of_events: list[Event]
) -> None:
    run = RunDetail(
        run_id="r",
        tenant="default",
        job_id="j",
        status="dead",
        scheduled_time=NOON,
        due_time=NOON + timedelta(seconds=1),
        attempts=tuple(of_attempts),
        events=tuple(of_events),
    )
    known = [run.scheduled_time, run.due_time, *(event.time for event in of_events)]
    for each in of_attempts:
        known += [each.emitted_time, each.started_time, each.finished_time]
    assert [at for at, _ in timeline(run)] == sorted(at for at in known if at is not None)
