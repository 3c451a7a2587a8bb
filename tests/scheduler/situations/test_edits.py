"""A job is written, written anew, deleted, created again: its slots run once each."""

import pytest

from tests.scheduler.situations.scene import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    delete,
    document,
    edit,
    offsets,
    reasons,
    say,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH, World

# EPOCH is 14:13:20 UTC, so the first full minute is 40 s on.


def test_b075_a_new_job_does_not_run_before_its_first_slot() -> None:
    world = world_with()
    world.run_until(EPOCH + 39_999)
    assert world.log.runs == []
    world.run_until(EPOCH + 40_000)
    assert offsets(world) == [40]


def test_b072_writing_the_same_definition_again_moves_nothing() -> None:
    world = world_with()
    for second in range(1, 180):
        world.run_until(EPOCH + second * SECOND - 100)
        if second % 7 == 0:
            world.put("default/a", document())
    assert offsets(world) == [40, 100, 160]
    assert len([event for event in world.log.events if event.type == "accepted"]) == 1


def test_b085_a_hundred_writes_and_crashes_leave_one_run_a_slot() -> None:
    world = world_with()
    for number in range(100):
        world.now = EPOCH + 30_000 + 20 * number
        world.put("default/a", document(description=f"edit {number}"))
        world.turn(crash=("", "", "", "before_commit", "after_commit")[number % 5])
    world.run_until(EPOCH + 170_000)
    assert offsets(world) == [40, 100, 160]


def test_b088_the_last_period_that_was_accepted_is_in_force() -> None:
    world = world_with(schedule={"every": 8})
    for period in (3, 9, 2):
        settle(world, 10 * SECOND)
        edit(world, schedule={"every": period})
    before = len(world.log.runs)
    settle(world, 20 * SECOND)
    assert len(world.log.runs) - before == 10


def test_b102_fifty_edits_around_a_slot_and_restarts_leave_one_run_a_slot() -> None:
    world = world_with()
    for number in range(50):
        world.run_until(EPOCH + 15_000 + number * 1_100)
        edit(world, description=f"edit {number}")
        if number % 10 == 3:
            world.restart()
        if number % 10 == 8:
            world.lose_store()
    world.run_until(EPOCH + 110_000)
    assert offsets(world) == [40, 100]


def test_b064_moving_todays_time_forward_after_it_has_run_waits_for_tomorrow() -> None:
    world = world_with(schedule={"cron": "15 14 * * *"})
    world.run_until(EPOCH + 5 * MINUTE)
    edit(world, schedule={"cron": "14 14 * * *"})
    world.run_until(EPOCH + HOUR)
    assert offsets(world) == [100]
    world.run_until(EPOCH + DAY + MINUTE)
    assert offsets(world) == [100, 40 + DAY // SECOND]


@pytest.mark.parametrize(
    ("zone", "hour"), [("America/New_York", 10), ("Pacific/Honolulu", 4), ("Asia/Tokyo", 23)]
)
def test_b063_another_zone_runs_no_slot_of_its_past(zone: str, hour: int) -> None:
    """The new definition's slot of today, 14:00 UTC, lies behind the edit at 14:13:20."""
    world = world_with(schedule={"cron": "0 16 * * *"})
    edit(world, schedule={"cron": f"0 {hour} * * *", "timezone": zone})
    world.run_until(EPOCH + 4 * HOUR)
    assert offsets(world) == []
    world.run_until(EPOCH + DAY)
    assert len(world.log.runs) == 1


def test_b086_delete_and_create_again_in_one_instant() -> None:
    world = world_with()
    world.put("default/a", None)
    world.put("default/a", document())
    world.run_until(EPOCH + 100_000)
    assert offsets(world) == [40, 100]


def test_b086_create_and_delete_in_one_instant_leaves_nothing() -> None:
    world = World()
    world.put("default/a", document())
    world.put("default/a", None)
    world.run_until(EPOCH + 100_000)
    assert offsets(world) == []


def test_b101_a_new_job_makes_no_other_run_again() -> None:
    world = world_with(catch_up={"after": "PT1H"})
    world.run_until(EPOCH + 100_000)
    world.put("default/b", document())
    world.run_until(EPOCH + 130_000)
    assert offsets(world) == [40, 100]


def test_b067_nothing_runs_outside_the_window() -> None:
    window = {"start": "2026-09-21T14:15:00Z", "end": "2026-09-21T14:17:00Z"}
    world = world_with(schedule={"cron": "* * * * *", **window})
    world.run_until(EPOCH + HOUR)
    assert offsets(world) == [100, 160]


def test_b067_a_start_moved_ahead_in_a_pause_holds_after_the_resume() -> None:
    world = world_with(status="paused")
    later = {"cron": "* * * * *", "start": "2026-09-21T14:20:00Z"}
    edit(world, schedule=later, status="paused")
    settle(world, 2 * MINUTE)
    edit(world, schedule=later, status="active")
    world.run_until(EPOCH + 8 * MINUTE)
    assert offsets(world) == [400, 460]


def test_b067_a_window_that_has_ended_runs_nothing() -> None:
    world = world_with(schedule={"cron": "* * * * *", "end": "2026-09-21T14:00:00Z"})
    world.run_until(EPOCH + HOUR)
    assert world.log.runs == []


def test_b092_a_job_deleted_during_its_run_stays_deleted() -> None:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    delete(world)
    settle(world, 10 * SECOND)
    say(world, "succeeded")
    settle(world, 3 * MINUTE)
    world.lose_store()
    settle(world, 3 * MINUTE)
    assert offsets(world) == [40]
    assert world.partition.tally == (0, 0)


def test_b093_the_end_of_a_run_does_not_undo_an_edit() -> None:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    edit(world, overlap="skip", schedule={"cron": "*/5 * * * *"})
    say(world, "succeeded")
    world.run_until(EPOCH + 5 * MINUTE)
    assert offsets(world) == [40, 100]


def test_max_runs_ends_the_job() -> None:
    world = world_with(max_runs=3, keep_completed="PT1H")
    world.run_until(EPOCH + 30 * MINUTE)
    assert offsets(world) == [40, 100, 160]
    assert reasons(world, "completed")
    world.run_until(EPOCH + 3 * HOUR)
    assert world.log.jobs[-1].value is None


def test_a_job_created_again_has_all_its_runs_again() -> None:
    world = world_with(max_runs=1, keep_completed="P1D")
    world.run_until(EPOCH + 2 * MINUTE)
    delete(world)
    edit(world, max_runs=1)
    world.run_until(EPOCH + 10 * MINUTE)
    assert offsets(world) == [40, 160]


@pytest.mark.parametrize("edited", [{}, {"status": "paused"}, {"schedule": {"every": 30}}])
def test_an_occurrence_that_the_last_of_max_runs_has_settled_does_not_come_back(
    edited: dict[str, object],
) -> None:
    """The second run had waited: by then the third occurrence's time has come, but, for its
    jitter, not its due instant."""
    world = world_with(overlap="buffer_one", max_runs=2, jitter=30)
    world.run_until(EPOCH + 130 * SECOND)
    assert offsets(world) == [40]
    world.run_until(EPOCH + 170 * SECOND)
    say(world, "succeeded")
    settle(world)
    assert offsets(world) == [40, 100]
    edit(world, overlap="buffer_one", **edited)
    say(world, "succeeded")
    world.run_until(EPOCH + 200 * SECOND)
    assert offsets(world) == [40, 100]
    assert reasons(world, "skipped") == []


def test_an_edit_that_comes_late_repeats_nothing_after_a_restore() -> None:
    """It was written before a slot whose due instant, for its jitter, is still to come, and read
    after it. The slot is in hand by then; a new owner has to know that."""
    world = world_with(jitter=30)
    world.run_until(EPOCH + 170 * SECOND)
    world.put("default/a", document(jitter=30, payload={"new": True}), skew_ms=20_000)
    world.turn()
    settle(world, 5 * SECOND)
    world.lose_store()
    settle(world)
    world.lose_store()
    world.run_until(EPOCH + 200 * SECOND)
    assert offsets(world) == [40, 100, 160]
