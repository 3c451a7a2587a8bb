"""A job whose runs are limited, and edited once they are used up."""

from collections import Counter

from tests.scheduler.situations.scene import (
    MINUTE,
    document,
    offsets,
    reasons,
    say,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH, World
from tocsin.model.runs import Run


def each_once(runs: list[Run]) -> bool:
    return set(Counter(run.run_id for run in runs).values()) == {1}


def used_up_by_a_backlog() -> World:
    """Its only run was the first of a backlog; the next slot is 14:18, 280 s on."""
    world = world_with(max_runs=1, overlap="skip", catch_up={"policy": "all", "after": 1})
    world.now = EPOCH + 250_000
    for _ in range(3):
        world.turn()
    assert offsets(world) == [40]
    return world


def test_a_backlog_that_uses_up_the_runs_leaves_no_slot_for_the_definition_after() -> None:
    world = used_up_by_a_backlog()
    world.put("default/a", document(schedule={"every": 15, "start": "2026-09-21T14:13:20Z"}))
    world.run_until(EPOCH + 400_000)
    assert offsets(world) == [40, *range(255, 401, 15)]
    assert each_once(world.log.runs)


def test_an_edit_that_lifts_the_limit_loses_no_slot_behind_its_own_time() -> None:
    """The limit was reached at 40 s; the edit is of 90 s, and reaches the scheduler at 110 s."""
    world = world_with(max_runs=1)
    world.run_until(EPOCH + 110_000)
    assert offsets(world) == [40]
    world.put("default/a", document(), skew_ms=20_000)
    world.run_until(EPOCH + 200_000)
    assert offsets(world) == [40, 100, 160]


def test_an_edit_that_lifts_the_limit_repeats_no_run_that_was_in_time() -> None:
    """The edit is of 30 s, and the run of 40 s was made before it reached the scheduler."""
    world = world_with(max_runs=1)
    world.run_until(EPOCH + 45_000)
    world.put("default/a", document(), skew_ms=15_000)
    world.run_until(EPOCH + 110_000)
    assert offsets(world) == [40, 100]
    assert reasons(world, "missed") == []


def test_all_that_waits_is_recorded_when_the_runs_are_used_up() -> None:
    """Four slots have come when the first run ends; the second run is the last."""
    world = world_with(max_runs=2, overlap="buffer_all", queue_timeout="PT1H")
    world.run_until(EPOCH + 230_000)
    say(world, "succeeded")
    settle(world)
    say(world, "succeeded")
    settle(world)
    assert offsets(world) == [40, 100]
    assert reasons(world, "skipped") == ["max_runs: all runs are used"] * 2
    assert world.partition.tally.open_runs == 0
    settle(world, 2 * MINUTE)
    assert reasons(world, "completed") == ["nothing left to run"]
