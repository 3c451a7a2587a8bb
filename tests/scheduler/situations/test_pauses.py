"""A job is paused and resumed: by people, and by its failures."""

from tests.scheduler.situations.scene import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    cancelled,
    count,
    document,
    edit,
    offsets,
    reasons,
    say,
    settle,
    signal,
    world_with,
)
from tests.scheduler.world import EPOCH
from tocsin.wire.codec import JOB


def test_b056_a_pause_is_not_caught_up_and_not_missed() -> None:
    world = world_with()
    edit(world, status="paused")
    world.run_until(EPOCH + 3 * HOUR)
    world.put("default/a", document(status="active"))
    world.run_until(EPOCH + 3 * HOUR + 39_999)
    assert world.log.runs == []
    assert count(world, "missed") == 0
    world.run_until(EPOCH + 3 * HOUR + 40_000)
    assert len(world.log.runs) == 1


def test_b062_a_weekly_job_resumed_on_friday_waits_for_sunday() -> None:
    """EPOCH is a Monday."""
    weekly = {"cron": "0 0 * * SUN"}
    world = world_with(schedule=weekly)
    edit(world, schedule=weekly, status="paused")
    world.run_until(EPOCH + 11 * DAY)
    edit(world, schedule=weekly, status="active")
    world.run_until(EPOCH + 12 * DAY)
    assert world.log.runs == []
    world.run_until(EPOCH + 13 * DAY)
    assert offsets(world) == [12 * DAY // SECOND + (9 * HOUR + 46 * MINUTE + 40 * SECOND) // SECOND]


def test_b095_pausing_and_resuming_before_the_slot_keeps_the_slot() -> None:
    world = world_with()
    for second, status in ((10, "paused"), (20, "active")):
        world.run_until(EPOCH + second * SECOND)
        edit(world, status=status)
    world.run_until(EPOCH + 40_000)
    assert offsets(world) == [40]


def test_b093_the_end_of_a_run_does_not_undo_a_pause() -> None:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    edit(world, overlap="skip", status="paused")
    say(world, "succeeded")
    settle(world, HOUR)
    assert offsets(world) == [40]


def test_b127_a_manual_run_goes_on_when_its_job_is_paused() -> None:
    world = world_with(overlap="skip")
    signal(world, "trigger")
    settle(world)
    say(world, "started")
    edit(world, overlap="skip", status="paused")
    settle(world, 10 * SECOND)
    say(world, "heartbeat")
    settle(world, 10 * SECOND)
    assert cancelled(world) == []
    assert world.partition.tally.open_runs == 1


def test_a_retry_goes_on_when_its_job_is_paused() -> None:
    world = world_with(retry={"initial": 10, "jitter": "none"})
    world.run_until(EPOCH + 40_000)
    say(world, "failed")
    settle(world)
    edit(world, retry={"initial": 10, "jitter": "none"}, status="paused")
    settle(world, MINUTE)
    assert [run.attempt for run in world.log.runs] == [1, 2]


def test_b175_a_dropped_slot_is_counted_by_what_dropped_it() -> None:
    """Five in a pause, three that met a run, two that were too old."""
    limits = {"overlap": "skip", "catch_up": {"policy": "all", "window": 90}}
    world = world_with(**limits)
    edit(world, **limits, status="paused")
    settle(world, 5 * MINUTE)
    edit(world, **limits, status="active")
    settle(world, 40 * SECOND)
    say(world, "started")
    for _ in range(18):
        settle(world, 10 * SECOND)
        say(world, "heartbeat", 0)
    settle(world)
    say(world, "succeeded", 0)
    settle(world)
    assert world.results == {"emitted": 1, "skipped": 3}
    world.now += 4 * MINUTE
    while world.turn():
        pass
    assert world.results["missed"] == 2


def test_failures_in_a_row_pause_the_job() -> None:
    world = world_with(retry={"max_attempts": 1}, pause_on_failures=2)
    for _ in range(3):
        settle(world, MINUTE)
        say(world, "failed")
    settle(world, HOUR)
    assert len(world.log.runs) <= 3
    assert reasons(world, "paused")
    paused = JOB.decode(world.log.jobs[-1].value or b"")
    assert (paused.status, paused.status_note) == ("paused", reasons(world, "paused")[0])


def test_a_success_between_failures_begins_the_count_anew() -> None:
    world = world_with(overlap="skip", retry={"max_attempts": 1}, pause_on_failures=2)
    for kind in ("failed", "succeeded", "failed", "succeeded"):
        settle(world, MINUTE)
        say(world, kind)
    settle(world, MINUTE)
    assert reasons(world, "paused") == []


def test_manual_runs_do_not_count_as_failures_in_a_row() -> None:
    world = world_with(
        schedule={"cron": "0 0 1 1 *"}, retry={"max_attempts": 1}, pause_on_failures=2
    )
    for number in range(4):
        signal(world, "trigger", signal_id=f"{number:08x}-89ab-4def-8123-456789abcdef")
        settle(world)
        say(world, "failed")
    settle(world, MINUTE)
    assert len(reasons(world, "dead")) == 4
    assert reasons(world, "paused") == []


def test_a_pause_by_failures_loses_against_an_edit_that_was_faster() -> None:
    world = world_with(retry={"max_attempts": 1}, pause_on_failures=1)
    world.run_until(EPOCH + 40_000)
    say(world, "failed")
    world.put("default/a", document(retry={"max_attempts": 1}, description="mended"))
    settle(world, 2 * MINUTE)
    assert len(world.log.runs) == 3
