"""Runs that workers hold: leases, heartbeats, late words, runs that are handed back."""

import msgspec
import pytest

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.situations.scene import (
    MINUTE,
    ONCE,
    SECOND,
    attempts,
    cancelled,
    count,
    document,
    reasons,
    retrying,
    say,
    settle,
    signal,
    world_with,
)
from tests.scheduler.world import EPOCH, World


def test_b080_a_lost_lease_makes_the_run_pending_again() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started")
    settle(world, 59 * SECOND)
    assert attempts(world) == [1]
    settle(world, 2 * SECOND)
    assert attempts(world) == [1, 2]
    assert count(world, "lease_expired") == 1


def test_b080_a_recurring_job_goes_on_after_its_worker_died() -> None:
    world = world_with(overlap="skip", retry={"max_attempts": 1})
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    settle(world, 5 * MINUTE)
    assert len(world.log.runs) >= 2
    assert count(world, "dead") == 1


def test_b114_five_hundred_runs_of_workers_that_died_are_all_tried_again() -> None:
    world = World()
    for number in range(500):
        world.put(f"default/j{number}", document(schedule=ONCE, timeout=60))
    world.run_until(EPOCH + 40_000)
    for number in range(500):
        say(world, "started", number)
    settle(world, 62 * SECOND)
    assert attempts(world) == [1] * 500 + [2] * 500
    assert len({run.run_id for run in world.log.runs}) == 500


def test_b115_heartbeats_keep_a_long_run_alone() -> None:
    world = retrying(schedule=ONCE, timeout="PT2H")
    say(world, "started")
    for _ in range(180):
        settle(world, 30 * SECOND)
        say(world, "heartbeat", 0)
    settle(world)
    assert attempts(world) == [1]
    assert count(world, "lease_expired") == 0


def test_heartbeats_do_not_keep_a_run_beyond_its_time_out() -> None:
    """A worker that does not stop it is not waited for longer than a lease."""
    world = retrying(schedule=ONCE, timeout="PT2M")
    say(world, "started")
    for _ in range(7):
        settle(world, 30 * SECOND)
        say(world, "heartbeat", 0)
    assert attempts(world) == [1, 2]


def test_a_new_owner_gives_each_lease_a_fresh_term() -> None:
    """It has not seen the heartbeats, which are not in `state`."""
    world = retrying(schedule=ONCE, timeout="PT2H")
    say(world, "started")
    settle(world, 50 * SECOND)
    world.lose_store()
    settle(world, 55 * SECOND)
    assert attempts(world) == [1]
    say(world, "heartbeat", 0)
    settle(world, 50 * SECOND)
    assert attempts(world) == [1]


def test_a_lease_is_not_judged_before_outcomes_have_been_read_beyond_its_end() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started")
    world.turn()
    world.now += 65 * SECOND
    world.turn(outcomes_read=EPOCH + 90_000)
    assert attempts(world) == [1]
    say(world, "succeeded", 0)
    settle(world, MINUTE)
    assert attempts(world) == [1]


def test_b082_a_late_success_ends_the_run_and_cancels_the_newer_attempt() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started")
    settle(world, 62 * SECOND)
    say(world, "started", 1, "other")
    say(world, "succeeded", 0)
    settle(world, 5 * MINUTE)
    assert attempts(world) == [1, 2]
    assert (2, None) in cancelled(world)


def test_b082_a_late_failure_is_ignored() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started")
    settle(world, 62 * SECOND)
    say(world, "started", 1, "other")
    say(world, "failed", 0)
    settle(world, 40 * SECOND)
    assert attempts(world) == [1, 2]
    say(world, "succeeded", 1, "other")
    settle(world, 5 * MINUTE)
    assert attempts(world) == [1, 2]


def test_b082_a_success_after_the_death_of_its_run_is_only_an_event() -> None:
    world = world_with(schedule=ONCE, retry={"max_attempts": 1})
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    settle(world, 62 * SECOND)
    assert count(world, "dead") == 1
    say(world, "succeeded")
    settle(world)
    assert "given up as dead" in reasons(world, "rejected")[0]


def test_b077_a_worker_that_has_lost_its_lease_is_told_to_stop() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started", worker="stale")
    settle(world, 62 * SECOND)
    assert (1, None) in cancelled(world)
    say(world, "started", 1, "fresh")
    say(world, "heartbeat", 0, "stale")
    settle(world)
    assert (1, "stale") in cancelled(world)
    assert attempts(world) == [1, 2]


def test_a_second_worker_on_one_attempt_is_cancelled_by_name() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started", 0, "first")
    say(world, "started", 0, "second")
    settle(world)
    assert cancelled(world) == [(1, "second")]


def test_a_declined_run_is_emitted_again_with_the_same_attempt() -> None:
    world = retrying(schedule=ONCE)
    say(world, "declined")
    settle(world)
    assert attempts(world) == [1, 1]
    assert world.log.runs[1].tracked


@pytest.mark.parametrize("words", [("declined",), ("started", "declined")])
def test_a_run_is_handed_back_once_however_often_that_is_told(words: tuple[str, ...]) -> None:
    """A worker that is not sure says it again; a new owner may read it again."""
    world = retrying(schedule=ONCE)
    settle(world)
    for _ in range(2):
        for word in words:
            say(world, word, 0)
        settle(world)
    assert attempts(world) == [1, 1]


def send_away(world: World, number: int = -1) -> None:
    """A worker declines the run for half a minute."""
    say(world, "declined", number, code="saturated", retry_after_ms=30_000)


@pytest.mark.parametrize("overlap", ["skip", "allow_all"])
def test_a_run_that_is_sent_away_comes_again_when_there_may_be_room(overlap: str) -> None:
    """As the same attempt, and without more time in the queue."""
    world = retrying(schedule=ONCE, overlap=overlap)
    for _ in range(2):
        send_away(world)
        settle(world, 29 * SECOND)
        before = len(world.log.runs)
        settle(world, 2 * SECOND)
        assert len(world.log.runs) == before + 1
    assert attempts(world) == [1, 1, 1]
    first, *_, last = world.log.runs
    assert last.expires_time - first.expires_time == 2, "only to tell the emissions apart"
    say(world, "failed")
    settle(world, 11 * SECOND)
    assert attempts(world) == [1, 1, 1, 2]


def test_a_run_is_sent_away_once_however_often_that_is_told() -> None:
    world = retrying(schedule=ONCE)
    for _ in range(3):
        send_away(world, 0)
        settle(world, 31 * SECOND)
    assert attempts(world) == [1, 1]


def test_a_run_that_was_sent_away_can_be_cancelled_at_once() -> None:
    world = retrying(schedule=ONCE)
    send_away(world)
    settle(world)
    signal(world, "cancel", run_id=world.log.runs[0].run_id)
    settle(world, 2 * MINUTE)
    assert attempts(world) == [1]
    assert count(world, "cancelled") == 1


def test_a_success_of_a_run_that_was_sent_away_ends_it() -> None:
    """Another worker had it too."""
    world = retrying(schedule=ONCE)
    send_away(world)
    say(world, "succeeded", 0, "another worker")
    settle(world, 2 * MINUTE)
    assert attempts(world) == [1]


def test_a_lease_is_not_that_of_the_workers_clock() -> None:
    world = retrying(schedule=ONCE)
    started = outcome_of(world.log.runs[0], "started", world.now)
    world.say(msgspec.structs.replace(started, time=world.now - 50 * SECOND))
    settle(world, 40 * SECOND)
    assert attempts(world) == [1]


def test_a_claimed_run_that_was_not_begun_may_be_handed_back() -> None:
    world = retrying(schedule=ONCE)
    say(world, "started")
    say(world, "declined", 0, "another worker")
    settle(world)
    assert attempts(world) == [1]
    say(world, "declined", 0)
    settle(world)
    assert attempts(world) == [1, 1]


def test_a_failure_of_an_unknown_run_that_lasted_long_is_only_an_event() -> None:
    """Its run may have ended so long ago that nobody remembers."""
    world = retrying(schedule=ONCE)
    failed = outcome_of(world.log.runs[0], "failed", world.now)
    settle(world, 3 * SECOND)
    world.say(failed)
    settle(world, MINUTE)
    assert attempts(world) == [1]
    assert "came late" in reasons(world, "rejected")[0]
