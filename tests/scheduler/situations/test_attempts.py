"""Failures, retries, dead runs and their second chance."""

import msgspec
import pytest

from tests.scheduler.situations.scene import (
    DAY,
    HOUR,
    MINUTE,
    ONCE,
    SECOND,
    attempts,
    count,
    dead_runs,
    delete,
    document,
    edit,
    offsets,
    reasons,
    retrying,
    say,
    settle,
    signal,
    world_with,
)
from tests.scheduler.world import EPOCH, World


def kill(world: World, tries: int = 3) -> None:
    """Every attempt of the newest run fails."""
    for _ in range(tries):
        say(world, "failed")
        settle(world, HOUR)


def redrive(world: World, number: int = -1) -> None:
    dead = dead_runs(world)[number]
    signal(world, "redrive", dead=msgspec.to_builtins(dead, builtin_types=(bytes,)))
    settle(world)


def test_a_failure_is_tried_again_after_its_backoff_until_it_is_dead() -> None:
    world = retrying(schedule=ONCE)
    for attempt, pause in ((1, 10_000), (2, 30_000)):
        say(world, "failed")
        settle(world, pause - 1)
        assert world.log.runs[-1].attempt == attempt
        settle(world, 1)
        assert world.log.runs[-1].attempt == attempt + 1
    say(world, "failed")
    settle(world, HOUR)
    assert attempts(world) == [1, 2, 3]
    assert len(dead_runs(world)) == 1
    assert reasons(world, "dead") == ["exception: attempt 3 of 3"]


def test_what_the_target_asks_for_is_waited_for_up_to_the_cap() -> None:
    world = retrying(schedule=ONCE)
    say(world, "failed", retry_after_ms=5 * MINUTE)
    settle(world, 5 * MINUTE - 1)
    assert attempts(world) == [1]
    settle(world, 1)
    assert attempts(world) == [1, 2]
    say(world, "failed", retry_after_ms=DAY)
    settle(world, HOUR)
    assert attempts(world) == [1, 2, 3]


def test_a_permanent_failure_is_not_tried_again() -> None:
    world = retrying(schedule=ONCE)
    say(world, "failed", permanent=True)
    settle(world, HOUR)
    assert attempts(world) == [1]
    assert reasons(world, "dead") == ["exception: permanent"]


def test_a_dead_run_does_not_end_the_schedule() -> None:
    world = world_with(overlap="skip", retry={"max_attempts": 1})
    for _ in range(3):
        settle(world, MINUTE)
        say(world, "failed")
    assert offsets(world) == [40, 100, 160]


def test_b120_a_repeated_failure_starts_no_second_chain() -> None:
    world = retrying(schedule=ONCE)
    for _ in range(3):
        say(world, "failed", 0)
    settle(world, MINUTE)
    assert attempts(world) == [1, 2]
    assert count(world, "retry_scheduled") == 1


def test_b120_a_failure_that_is_told_again_after_the_retry_changes_nothing() -> None:
    world = retrying(schedule=ONCE)
    say(world, "failed", 0)
    settle(world, MINUTE)
    say(world, "failed", 0)
    settle(world, MINUTE)
    assert attempts(world) == [1, 2]


def test_a_late_failure_of_a_run_that_succeeded_changes_nothing() -> None:
    world = retrying(schedule=ONCE)
    for kind in ("succeeded", "failed", "started"):
        say(world, kind, 0)
    settle(world, HOUR)
    assert attempts(world) == [1]


def test_b092_a_failure_after_the_delete_is_final() -> None:
    world = retrying()
    delete(world)
    settle(world)
    say(world, "failed")
    settle(world, HOUR)
    assert len(world.log.runs) == 1
    assert reasons(world, "dead") == ["exception: its job was deleted"]


def test_a_delete_drops_a_waiting_retry() -> None:
    world = retrying()
    say(world, "failed")
    settle(world)
    delete(world)
    settle(world, HOUR)
    assert attempts(world) == [1]
    assert reasons(world, "cancelled") == ["the job was deleted"]


def test_b118_a_run_of_a_worker_that_was_restarted_with_everything_else_is_tried_again() -> None:
    world = world_with(schedule=ONCE, retry={"max_attempts": 4, "initial": 10})
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    settle(world)
    world.lose_store()
    settle(world, 61 * SECOND)
    assert attempts(world) == [1, 2]
    assert world.log.runs[0].run_id == world.log.runs[1].run_id


def test_b125_a_redrive_has_a_fresh_budget_and_counts_on() -> None:
    world = retrying(schedule=ONCE)
    kill(world)
    redrive(world)
    assert (world.log.runs[-1].attempt, world.log.runs[-1].max_attempts) == (4, 6)
    assert world.log.runs[-1].cause == "redrive"


def test_b125_each_slot_has_a_budget_of_its_own() -> None:
    """A failure a day never adds up."""
    world = world_with(
        schedule={"cron": "0 15 * * *"}, retry={"max_attempts": 3, "initial": 1, "jitter": "none"}
    )
    for day in range(5):
        world.run_until(EPOCH + day * DAY + HOUR)
        say(world, "failed")
        settle(world, MINUTE)
        say(world, "succeeded")
    assert attempts(world) == [1, 2] * 5
    assert count(world, "dead") == 0


def test_a_redrive_uses_the_present_definition() -> None:
    world = retrying(schedule=ONCE)
    kill(world)
    edit(world, schedule=ONCE, payload={"mended": True}, retry={"max_attempts": 2})
    redrive(world)
    run = world.log.runs[-1]
    assert (run.payload, run.max_attempts) == (b'{"mended":true}', 3 + 2)


def test_a_run_is_redriven_once_however_often_that_is_asked() -> None:
    world = retrying(schedule=ONCE)
    kill(world)
    redrive(world)
    redrive(world)
    assert attempts(world) == [1, 2, 3, 4]
    assert "redrive: the run is pending" in reasons(world, "rejected")


def test_a_redriven_run_of_a_job_that_is_gone_runs_as_it_was() -> None:
    world = retrying(schedule=ONCE)
    kill(world)
    delete(world)
    redrive(world)
    assert attempts(world)[-1] == 4


@pytest.mark.parametrize("crash", ["before_commit", "after_commit"])
@pytest.mark.parametrize("kind", ["failed", "started", "declined", "succeeded"])
def test_a_crash_while_an_outcome_is_applied_applies_it_once(crash: str, kind: str) -> None:
    world = retrying(schedule=ONCE)
    say(world, kind)
    world.turn(crash=crash)
    settle(world, 11 * SECOND)
    expected = {"failed": [1, 2], "started": [1], "declined": [1, 1], "succeeded": [1]}
    assert attempts(world) == expected[kind]


def test_a_retry_goes_to_the_priority_and_pool_it_came_from() -> None:
    world = world_with(schedule=ONCE, priority="high", retry={"initial": 1})
    world.run_until(EPOCH + 40_000)
    world.put("default/a", document(schedule=ONCE, priority="low"))
    say(world, "failed")
    settle(world, MINUTE)
    assert [run.priority for run in world.log.runs] == ["high", "high"]
