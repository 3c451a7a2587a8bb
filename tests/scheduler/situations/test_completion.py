"""Runs that a worker has deferred: somebody else says how they ended."""

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.situations.scene import offsets, reasons, retrying, signal
from tests.scheduler.world import EPOCH, World
from tocsin.model.runs import Outcome, Run
from tocsin.wire.codec import OUTCOME


def deferred(**given: object) -> tuple[World, Run]:
    """A world whose first run a worker has deferred."""
    world = retrying(overlap="skip", **given)
    (run,) = world.log.runs
    world.say(outcome_of(run, "deferred", world.now, "handed-over"))
    world.run_until(world.now + 1_000)
    return world, run


def last_outcome(world: World) -> Outcome:
    return OUTCOME.decode(world.log.outcomes[-1].value or b"")


def test_a_completed_run_has_ended_and_the_log_tells_how() -> None:
    world, run = deferred()
    signal(world, "complete", run_id=run.run_id, attempt=1, succeeded=True, result=b'{"rows":3}')
    world.run_until(EPOCH + 100_000)
    told = last_outcome(world)
    assert (told.kind, told.attempt, told.result) == ("succeeded", 1, b'{"rows":3}')
    assert told.worker == "handed-over"
    assert offsets(world) == [40, 100]
    assert world.log.runs[1].attempt == 1


def test_a_run_completed_as_failed_is_retried_and_the_log_tells_why() -> None:
    world, run = deferred()
    error = {"code": "exception", "message": "the printer is on fire"}
    signal(world, "complete", run_id=run.run_id, attempt=1, succeeded=False, error=error)
    world.run_until(world.now + 11_000)
    told = last_outcome(world)
    assert told.error is not None
    assert (told.kind, told.error.message) == ("failed", "the printer is on fire")
    assert [one.attempt for one in world.log.runs] == [1, 2]
    assert reasons(world, "retry_scheduled") == ["exception: attempt 1 of 3 failed"]


def test_a_run_that_nobody_completes_ends_with_its_time_out() -> None:
    world, _ = deferred(timeout="PT30S")
    world.run_until(world.now + 29_000)
    assert len(world.log.runs) == 1
    world.run_until(world.now + 12_000)
    assert [run.attempt for run in world.log.runs] == [1, 2]


def test_a_completion_that_is_read_before_its_run_is_deferred_waits_for_it() -> None:
    world = retrying(overlap="skip")
    (run,) = world.log.runs
    signal(world, "complete", run_id=run.run_id, attempt=1, succeeded=True)
    world.turn(outcomes_read=world.now - 1)
    assert reasons(world, "rejected") == []
    world.say(outcome_of(run, "deferred", world.now))
    world.turn(outcomes_read=world.now - 1)
    world.turn()
    assert reasons(world, "rejected") == []
    assert last_outcome(world).kind == "succeeded"


def test_only_a_deferred_run_can_be_completed() -> None:
    world = retrying(overlap="skip")
    (run,) = world.log.runs
    signal(world, "complete", run_id=run.run_id, attempt=1, succeeded=True)
    world.turn()
    assert reasons(world, "rejected") == ["complete: the run is not deferred"]
    assert world.log.outcomes == []


def test_another_attempt_than_the_present_one_cannot_be_completed() -> None:
    world, run = deferred()
    signal(world, "complete", run_id=run.run_id, attempt=2, succeeded=True)
    world.turn()
    assert reasons(world, "rejected") == [
        "complete: attempt 2 is not the present one; 1 is deferred"
    ]
