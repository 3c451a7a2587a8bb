"""The scheduler was away, or frozen: what becomes of the slots that passed."""

import pytest

from tests.scheduler.situations.scene import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    count,
    document,
    offsets,
    say,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH, World
from tocsin_scheduler.core.turn import Budget


def away(world: World, ms: int, *, restarted: bool) -> None:
    """Nobody schedules for so long; then all that is due by then is dealt with."""
    world.now += ms
    if restarted:
        world.restart()
    while world.turn():
        pass


frozen_or_stopped = pytest.mark.parametrize("restarted", [False, True], ids=["frozen", "stopped"])


@frozen_or_stopped
@pytest.mark.parametrize(
    ("policy", "runs", "missed"), [("latest", 1, 143), ("skip", 0, 144), ("all", 144, 0)]
)
def test_b058_after_a_day_away(policy: str, runs: int, missed: int, restarted: bool) -> None:
    world = world_with(schedule={"cron": "*/10 * * * *"}, catch_up={"policy": policy})
    away(world, DAY, restarted=restarted)
    assert (len(world.log.runs), count(world, "missed")) == (runs, missed)
    settle(world, 10 * MINUTE)
    assert len(world.log.runs) == runs + 1


def test_b058_a_backlog_runs_at_a_bounded_rate_and_behind_what_is_on_time() -> None:
    """Three runs of it a transaction, that of the other job first."""
    world = world_with(schedule={"cron": "*/10 * * * *"}, catch_up={"policy": "all"})
    world.put("default/b", document(schedule={"cron": "0 * * * *"}, catch_up={"after": "P1D"}))
    world.turn()
    world.now += HOUR
    for emitted in (4, 7, 7):
        world.turn(Budget(catch_up=3))
        assert len(world.log.runs) == emitted
    assert world.log.runs[0].job_id == "b"


@frozen_or_stopped
@pytest.mark.parametrize("outage", [101 * MINUTE, 7 * DAY])
@pytest.mark.parametrize("policy", ["latest", "skip", "all"])
def test_b055_a_job_goes_on_after_any_outage(outage: int, policy: str, restarted: bool) -> None:
    world = world_with(catch_up={"policy": policy, "window": "PT3H"})
    away(world, outage, restarted=restarted)
    slots = outage // MINUTE
    caught_up = {"latest": 1, "skip": 0, "all": min(slots, 180)}[policy]
    assert len(world.log.runs) == caught_up
    assert len(world.log.runs) + count(world, "missed") == slots
    before = len(world.log.runs)
    settle(world, 3 * MINUTE)
    assert len(world.log.runs) == before + 3


def test_b057_the_very_first_slot_in_an_outage_is_caught_up() -> None:
    """A yearly job: the scheduler stops before its first slot and comes back behind it."""
    world = world_with(schedule={"cron": "20 14 21 9 *"}, catch_up={"policy": "latest"})
    world.run_until(EPOCH + MINUTE)
    world.now += 20 * MINUTE
    world.lose_store()
    settle(world)
    assert offsets(world) == [400]


def test_b060_too_late_for_its_window_is_missed() -> None:
    world = world_with(schedule={"cron": "0 15 * * *"}, catch_up={"window": "PT30M"})
    away(world, 8 * HOUR, restarted=True)
    assert world.log.runs == []
    assert count(world, "missed") == 1
    settle(world, DAY)
    assert len(world.log.runs) == 1


def test_b061_nothing_runs_before_the_first_of_the_month() -> None:
    world = world_with(schedule={"cron": "0 0 1 * *"}, catch_up={"policy": "skip"})
    away(world, 400 * DAY, restarted=True)
    assert world.log.runs == []
    settle(world, 4 * DAY)
    assert world.log.runs == []
    settle(world, 2 * DAY)
    assert [run.run_id for run in world.log.runs] == ["default.a.20271101T000000.000Z"]


def test_b068_by_default_the_last_slot_of_an_outage_runs_and_the_others_are_seen() -> None:
    world = world_with(schedule={"cron": "0 * * * *"})
    away(world, 5 * HOUR, restarted=True)
    assert len(world.log.runs) == 1
    (event,) = (each for each in world.log.events if each.type == "missed")
    assert event.count == 4
    assert world.results["missed"] == 4


def test_b073_a_slot_in_a_rolling_restart_runs() -> None:
    """40 s over 14:15, well below `catch_up.after`."""
    world = world_with(schedule={"cron": "*/15 * * * *"}, catch_up={"policy": "skip"})
    world.run_until(EPOCH + 80_000)
    away(world, 40 * SECOND, restarted=True)
    assert offsets(world) == [100]


@pytest.mark.parametrize(("policy", "extra"), [("skip", 0), ("latest", 1)])
def test_b106_a_step_of_an_hour_ahead_is_an_outage_like_any_other(policy: str, extra: int) -> None:
    """Of the brokers' clock: a node's own would not be believed."""
    world = world_with(schedule={"every": 5}, catch_up={"policy": policy})
    away(world, HOUR, restarted=False)
    assert len(world.log.runs) == extra


def test_a_backlog_under_skip_runs_one_after_another() -> None:
    world = world_with(
        schedule={"cron": "*/10 * * * *"}, catch_up={"policy": "all"}, overlap="skip"
    )
    world.now += HOUR
    for expected in range(1, 7):
        settle(world)
        assert len(world.log.runs) == expected
        say(world, "succeeded")


def test_a_backlog_goes_on_by_the_schedule_it_came_from_after_an_edit() -> None:
    every_ten = {"schedule": {"cron": "*/10 * * * *"}, "catch_up": {"policy": "all"}}
    world = world_with(**every_ten, overlap="skip")
    world.now += HOUR
    settle(world)
    world.put("default/a", document(**every_ten | {"schedule": {"cron": "0 0 1 1 *"}}))
    for _ in range(6):
        say(world, "succeeded")
        settle(world)
    assert offsets(world) == [400, 1000, 1600, 2200, 2800, 3400]


def test_a_backlog_rests_in_a_pause_and_goes_on_at_the_resume() -> None:
    fields = {"schedule": {"cron": "*/10 * * * *"}, "catch_up": {"policy": "all"}}
    world = world_with(**fields, overlap="skip")
    world.now += HOUR
    settle(world)
    world.put("default/a", document(**fields, overlap="skip", status="paused"))
    settle(world)
    say(world, "succeeded")
    settle(world, MINUTE)
    assert len(world.log.runs) == 1
    world.put("default/a", document(**fields, overlap="skip", status="active"))
    settle(world)
    assert offsets(world) == [400, 1000]
