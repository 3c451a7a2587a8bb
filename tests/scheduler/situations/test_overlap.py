"""An occurrence comes while a run of its job is unfinished: the six policies."""

import pytest

from tests.scheduler.situations.scene import (
    MINUTE,
    SECOND,
    attempts,
    cancelled,
    count,
    document,
    offsets,
    reasons,
    running_twice,
    say,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH, TOPICS, World
from tocsin_scheduler.core.config import CoreConfig


def test_skip_leaves_out_what_comes_meanwhile() -> None:
    world = running_twice("skip")
    assert offsets(world) == [40]
    assert count(world, "skipped") == 2


def test_b084_buffer_one_keeps_one_and_skips_the_rest() -> None:
    world = running_twice("buffer_one")
    assert count(world, "skipped") == 1
    say(world, "succeeded", 0)
    settle(world)
    assert offsets(world) == [40, 100]


def test_b084_skip_leaves_one_run_however_long_it_takes() -> None:
    """Five minutes of a job that is due every ten seconds."""
    world = world_with(schedule={"every": 10}, overlap="skip", timeout="PT1H")
    settle(world, 10 * SECOND)
    say(world, "started")
    for _ in range(30):
        settle(world, 10 * SECOND)
        say(world, "heartbeat")
    assert len(world.log.runs) == 1
    assert count(world, "skipped") == 30


def test_buffer_all_keeps_them_all_in_order() -> None:
    world = running_twice("buffer_all")
    for expected in ([40, 100], [40, 100, 160]):
        say(world, "succeeded")
        settle(world)
        assert offsets(world) == expected


def test_buffer_all_keeps_no_more_than_its_cap() -> None:
    config = CoreConfig(topics=TOPICS, partition=0, partitions=1, max_buffered=3)
    world = World(config)
    world.put("default/a", document(overlap="buffer_all", queue_timeout="P1D"))
    settle(world, 10 * MINUTE)
    assert len(world.log.runs) == 1
    assert count(world, "skipped") == 10 - 1 - 3
    assert "the limit" in reasons(world, "skipped")[0]


def test_no_more_runs_of_a_job_are_unfinished_than_the_cap() -> None:
    """Those that were terminated count until their workers say that they have stopped."""
    config = CoreConfig(topics=TOPICS, partition=0, partitions=1, max_unfinished=3)
    world = World(config)
    world.put("default/a", document(schedule={"every": 5}, overlap="terminate_other"))
    for _ in range(6):
        settle(world, 5 * SECOND)
        say(world, "started")
    assert len(world.log.runs) == 3
    assert "3 runs are unfinished, the limit" in reasons(world, "skipped")


def test_cancel_other_waits_until_the_other_has_ended() -> None:
    world = running_twice("cancel_other")
    assert offsets(world) == [40]
    assert len(cancelled(world)) >= 1
    say(world, "cancelled", 0)
    settle(world)
    assert offsets(world) == [40, 160]


def test_cancel_other_ends_a_waiting_retry_at_once() -> None:
    world = world_with(overlap="cancel_other", retry={"initial": 600, "jitter": "none"})
    world.run_until(EPOCH + 40_000)
    say(world, "failed")
    world.run_until(EPOCH + 100_000)
    assert offsets(world) == [40, 100]
    assert attempts(world) == [1, 1]
    assert count(world, "cancelled") == 1


def test_terminate_other_starts_at_once() -> None:
    assert offsets(running_twice("terminate_other")) == [40, 100, 160]


def test_allow_all_starts_whatever_runs() -> None:
    assert offsets(running_twice("allow_all")) == [40, 100, 160]


@pytest.mark.parametrize("overlap", ["skip", "buffer_one", "buffer_all", "cancel_other"])
def test_a_run_that_waits_for_its_retry_is_unfinished(overlap: str) -> None:
    world = world_with(overlap=overlap, retry={"initial": 60, "jitter": "none"})
    world.run_until(EPOCH + 40_000)
    say(world, "failed")
    world.run_until(EPOCH + 99_999)
    assert attempts(world) == [1]
    world.run_until(EPOCH + 100_000)
    assert attempts(world) == ([1, 1] if overlap == "cancel_other" else [1, 2])


def test_a_run_that_ended_just_before_is_not_in_the_way() -> None:
    """The outcome is in the log, the scheduler has not read it when the occurrence comes."""
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    world.now = EPOCH + 100_000
    world.turn(outcomes_read=EPOCH + 99_000)
    world.now += 25
    say(world, "succeeded", 0)
    world.turn(outcomes_read=world.now)
    assert offsets(world) == [40, 100]


def test_an_occurrence_does_not_wait_for_outcomes_for_longer_than_a_second() -> None:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    world.now = EPOCH + 100_000
    world.turn(outcomes_read=EPOCH + 99_000)
    assert count(world, "skipped") == 0
    world.now += SECOND
    world.turn(outcomes_read=EPOCH + 99_000)
    assert count(world, "skipped") == 1


def test_other_jobs_do_not_wait_for_the_outcomes_of_one() -> None:
    world = world_with(overlap="skip")
    world.put("default/b", document())
    world.run_until(EPOCH + 40_000)
    world.now = EPOCH + 100_000
    world.turn(outcomes_read=EPOCH + 99_000)
    assert [run.job_id for run in world.log.runs].count("b") == 2


def test_b091_an_end_that_is_told_twice_starts_one_successor() -> None:
    world = running_twice("buffer_all")
    say(world, "succeeded", 0)
    say(world, "succeeded", 0)
    settle(world)
    world.restart()
    settle(world)
    assert offsets(world) == [40, 100]


@pytest.mark.parametrize(
    "overlap", ["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other"]
)
@pytest.mark.parametrize("word", ["", "started"])
@pytest.mark.parametrize("loses_store", [False, True])
def test_b089_no_lost_run_blocks_its_job_for_ever(
    overlap: str, word: str, loses_store: bool
) -> None:
    """Whatever the worker had said before it died: a queue time-out or a lease ends the run."""
    world = world_with(overlap=overlap, queue_timeout="PT3M", retry={"max_attempts": 1})
    world.run_until(EPOCH + 40_000)
    if word:
        say(world, word)
    settle(world)
    if loses_store:
        world.lose_store()
    settle(world, 10 * MINUTE)
    assert len(world.log.runs) >= 2
    assert count(world, "expired") + count(world, "dead") + count(world, "cancelled") >= 1


def test_max_runs_holds_for_what_waited() -> None:
    world = world_with(overlap="buffer_all", max_runs=2)
    settle(world, 5 * MINUTE)
    for _ in range(5):
        say(world, "succeeded")
        settle(world)
    assert offsets(world) == [40, 100]
    assert "max_runs" in reasons(world, "skipped")[0]


def test_a_buffered_occurrence_survives_the_loss_of_the_store() -> None:
    world = running_twice("buffer_one")
    world.lose_store()
    say(world, "succeeded", 0)
    settle(world)
    assert offsets(world) == [40, 100]
