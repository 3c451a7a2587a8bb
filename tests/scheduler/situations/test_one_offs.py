"""Jobs that run once: at their instant, in the past, far ahead, in a pause."""

import pytest

from tests.scheduler.situations.scene import (
    DAY,
    HOUR,
    MINUTE,
    ONCE,
    count,
    delete,
    document,
    edit,
    offsets,
    reasons,
    say,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH
from tocsin.timetable.instants import format_instant


@pytest.mark.parametrize("after_ms", [0, -1_000, 50])
def test_b098_a_one_off_of_about_now_runs_at_once(after_ms: int) -> None:
    world = world_with(schedule={"at": format_instant(EPOCH + after_ms)})
    world.run_until(EPOCH + 50)
    assert [run.scheduled_time - EPOCH for run in world.log.runs] == [after_ms]


def test_b098_a_one_off_long_past_is_recorded_as_missed() -> None:
    world = world_with(schedule={"at": format_instant(EPOCH - HOUR)})
    settle(world, MINUTE)
    assert world.log.runs == []
    assert count(world, "missed") == 1


@pytest.mark.parametrize(
    "at",
    [
        "2026-10-16T14:13:20Z",
        "2026-11-10T14:13:20Z",
        "2036-09-21T14:13:20Z",
        "9999-12-31T23:59:59Z",
    ],
)
def test_b109_a_one_off_far_ahead_waits(at: str) -> None:
    """Further than 2^31 milliseconds, which is 24.8 days."""
    world = world_with(schedule={"at": at})
    world.run_until(EPOCH + 24 * DAY)
    assert world.log.runs == []
    assert world.wake is not None


def test_b109_a_one_off_far_ahead_runs_when_its_instant_comes() -> None:
    world = world_with(schedule={"at": format_instant(EPOCH + 50 * DAY)})
    world.run_until(EPOCH + 50 * DAY - 1)
    assert world.log.runs == []
    world.run_until(EPOCH + 50 * DAY)
    assert len(world.log.runs) == 1


def test_b113_a_one_off_hours_ahead_runs_once_whatever_leases_and_time_outs_are() -> None:
    world = world_with(
        schedule={"at": format_instant(EPOCH + 6 * HOUR)}, queue_timeout=1, timeout=1
    )
    for _ in range(12):
        settle(world, HOUR)
        world.restart()
        if world.log.runs:
            say(world, "succeeded")
    assert offsets(world) == [6 * 3_600]


def test_a_one_off_whose_time_passes_in_a_pause_runs_at_the_resume() -> None:
    world = world_with(schedule=ONCE)
    edit(world, schedule=ONCE, status="paused")
    settle(world, HOUR)
    assert world.log.runs == []
    edit(world, schedule=ONCE, status="active")
    settle(world, HOUR)
    assert offsets(world) == [40]


def test_an_owed_one_off_survives_edits_of_other_fields() -> None:
    world = world_with(schedule=ONCE)
    edit(world, schedule=ONCE, status="paused")
    settle(world, HOUR)
    edit(world, schedule=ONCE, status="paused", description="later")
    world.lose_store()
    edit(world, schedule=ONCE, status="active", description="later")
    settle(world, HOUR)
    assert offsets(world) == [40]


def test_another_instant_drops_what_was_owed() -> None:
    world = world_with(schedule=ONCE)
    edit(world, schedule=ONCE, status="paused")
    settle(world, HOUR)
    edit(world, schedule={"at": format_instant(world.now + HOUR)}, status="active")
    settle(world, 2 * HOUR)
    assert offsets(world) == [2 * 3_600]
    assert count(world, "skipped") == 1


def test_an_instant_that_has_run_never_runs_again() -> None:
    world = world_with(schedule=ONCE)
    settle(world, 5 * MINUTE)
    delete(world)
    world.lose_store()
    edit(world, schedule=ONCE, catch_up={"after": "P1D"})
    settle(world, 5 * MINUTE)
    assert offsets(world) == [40]


def test_a_one_off_moved_before_its_instant_runs_at_the_new_one_only() -> None:
    world = world_with(schedule=ONCE)
    settle(world, 20_000)
    edit(world, schedule={"at": "2026-09-21T14:15:00Z"})
    settle(world, HOUR)
    assert offsets(world) == [100]


def test_a_completed_one_off_is_deleted_after_its_keep_in_its_own_partition() -> None:
    """B096 too: a tombstone elsewhere would leave the job to run again after a restart."""
    world = world_with(schedule=ONCE, keep_completed="PT1H")
    settle(world, 3 * HOUR)
    assert world.log.jobs[-1].value is None
    assert world.log.jobs[-1].key == world.log.jobs[0].key
    assert world.log.events[-1].status == "deleted"
    world.lose_store()
    settle(world, 3 * HOUR)
    assert offsets(world) == [40]


def test_a_job_that_was_written_again_is_not_deleted_by_its_old_keep() -> None:
    world = world_with(schedule=ONCE, keep_completed="PT1H")
    settle(world, HOUR)
    again = {"at": format_instant(EPOCH + 4 * HOUR)}
    world.put("default/a", document(schedule=again, keep_completed="PT1H"))
    settle(world, 4 * HOUR)
    assert len(offsets(world)) == 2
    assert "deleted" not in {event.status for event in world.log.events}


def test_a_recurring_job_that_becomes_a_one_off_runs_no_instant_of_the_past() -> None:
    world = world_with()
    settle(world, 5 * MINUTE)
    edit(world, schedule={"at": format_instant(world.now - 1_000)})
    settle(world, HOUR)
    assert offsets(world) == [40, 100, 160, 220, 280]
    assert "edit" in reasons(world, "skipped")[-1]
