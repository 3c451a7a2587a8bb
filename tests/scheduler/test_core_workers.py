"""What becomes of runs whose workers are slow, lost, frozen or stopped."""

import pytest

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.situations.scene import (
    HOUR,
    MINUTE,
    attempts,
    document,
    others,
    reasons,
    retrying,
    world_with,
)
from tests.scheduler.world import EPOCH, World
from tocsin.model.runs import Outcome, Run
from tocsin.model.signals import Signal
from tocsin.wire.codec import SIGNAL

ONE_OFF = {"at": "2026-09-21T14:14:00Z"}
LEASE = MINUTE


def started(world: World, run: Run, worker: str = "w") -> Outcome:
    return outcome_of(run, "started", world.now, worker)


def beat(world: World, run: Run, worker: str = "w") -> Outcome:
    return outcome_of(run, "heartbeat", world.now, worker)


def test_b112_delays_grow_up_to_the_maximum_for_thousands_of_attempts() -> None:
    world = world_with(
        schedule=ONE_OFF,
        retry={
            "max_attempts": 2_000,
            "initial": 1,
            "multiplier": 2,
            "max": "PT1H",
            "jitter": "none",
        },
    )
    world.run_until(EPOCH + 40_000)
    delays: list[int] = []
    for _ in range(1_200):
        failed_at = world.now
        world.say(outcome_of(world.log.runs[-1], "failed", world.now))
        world.run_until(failed_at)
        while world.log.runs[-1].attempt == len(delays) + 1:
            assert world.wake is not None
            world.run_until(world.wake)
        delays.append(world.log.runs[-1].emitted_time - failed_at)
    assert delays[:3] == [1_000, 2_000, 4_000]
    assert {delays[39], delays[63], delays[1_099]} == {HOUR}


def test_b113_a_one_off_far_ahead_runs_once_however_short_all_terms_are() -> None:
    world = world_with(schedule={"at": "2026-09-21T20:14:00Z"}, queue_timeout=1, timeout=1)
    for minutes in range(0, 380, 10):
        world.run_until(EPOCH + minutes * MINUTE)
        if world.log.runs:
            world.say(outcome_of(world.log.runs[0], "succeeded", world.now))
    assert attempts(world) == [1]


def test_b114_all_runs_of_a_worker_that_is_gone_leave_it_with_their_leases() -> None:
    world = World()
    for number in range(500):
        world.put(f"default/job-{number}", document(schedule=ONE_OFF, timeout="PT1H"))
    world.run_until(EPOCH + 40_000)
    for run in list(world.log.runs):
        world.say(started(world, run, "gone"))
    world.run_until(world.now + LEASE + 1_000)
    assert sorted(attempts(world)) == [1] * 500 + [2] * 500
    assert len(reasons(world, "lease_expired")) == 500


@pytest.mark.parametrize("keeps_store", [True, False])
def test_b118_a_run_outlives_the_restart_of_everything_with_its_attempts(
    keeps_store: bool,
) -> None:
    world = retrying(schedule=ONE_OFF)
    world.say(started(world, world.log.runs[0]))
    world.turn()
    if keeps_store:
        world.turn(crash="after_commit")
    else:
        world.lose_store()
    world.run_until(world.now + LEASE + 1_000)
    assert attempts(world) == [1, 2]
    assert len(reasons(world, "lease_expired")) == 1


def test_b127_a_pause_leaves_what_runs_alone() -> None:
    world = world_with(schedule={"cron": "0 0 1 1 *"}, overlap="skip")
    signal_id = "01890a5d-ac96-774b-bcce-b302099a8057"
    world.signal("default/a", SIGNAL.encode(Signal(signal="trigger", signal_id=signal_id)))
    world.run_until(world.now + 1_000)
    (run,) = world.log.runs
    world.say(started(world, run))
    world.run_until(world.now + 1_000)
    world.put("default/a", document(schedule={"cron": "0 0 1 1 *"}, status="paused"))
    for _ in range(10):
        world.run_until(world.now + 30_000)
        world.say(beat(world, run))
    world.say(outcome_of(run, "succeeded", world.now))
    world.run_until(world.now + 1_000)
    assert attempts(world) == [1]
    assert others(world, "tocsin.cancels") == []
    assert reasons(world, "cancelled") == []


def test_b082_a_late_failure_of_a_frozen_worker_starts_no_second_chain() -> None:
    world = retrying(schedule=ONE_OFF)
    first = world.log.runs[0]
    world.say(started(world, first, "frozen"))
    world.run_until(world.now + LEASE + 1_000)
    world.say(started(world, world.log.runs[1], "other"))
    world.run_until(world.now + 1_000)
    world.say(outcome_of(first, "failed", world.now, "frozen"))
    world.run_until(world.now + 10_000)
    world.say(outcome_of(world.log.runs[1], "succeeded", world.now, "other"))
    world.run_until(world.now + HOUR)
    assert attempts(world) == [1, 2]


def test_b077_a_worker_that_wakes_and_says_it_is_alive_is_told_that_it_is_not_wanted() -> None:
    world = retrying(schedule=ONE_OFF)
    first = world.log.runs[0]
    world.say(started(world, first, "frozen"))
    world.run_until(world.now + LEASE + 1_000)
    world.say(started(world, world.log.runs[1], "other"))
    world.say(beat(world, first, "frozen"))
    world.run_until(world.now + 1_000)
    told = [getattr(cancel, "worker", None) for cancel in others(world, "tocsin.cancels")]
    assert "frozen" in told
    assert "other" not in told
