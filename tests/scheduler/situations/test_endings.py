"""Runs that the scheduler itself has ended, and what is said of them to whoever owns them next."""

from collections.abc import Callable

import pytest

from tests.scheduler.situations.scene import (
    ONCE,
    SECOND,
    attempts,
    count,
    delete,
    reasons,
    say,
    settle,
    signal,
    world_with,
)
from tests.scheduler.world import EPOCH, World
from tocsin.model.events import EventType
from tocsin.model.runs import UNSIGNED
from tocsin.wire.codec import OUTCOME

QUEUE_TIMEOUT_S = 60


def handed_back() -> World:
    """A run was emitted, declined and emitted again; nobody has begun it."""
    retry = {"max_attempts": 3, "initial": 30, "jitter": "none"}
    world = world_with(schedule=ONCE, queue_timeout=QUEUE_TIMEOUT_S, retry=retry)
    world.run_until(EPOCH + 40 * SECOND)
    say(world, "declined")
    settle(world)
    return world


def cancel(world: World) -> None:
    signal(world, "cancel", run_id=world.log.runs[0].run_id)
    settle(world)


def expires(world: World) -> None:
    settle(world, 4 * QUEUE_TIMEOUT_S * SECOND)


def is_cancelled_unheard(world: World) -> None:
    cancel(world)
    settle(world, 60 * SECOND)


def is_cancelled_between_attempts(world: World) -> None:
    say(world, "failed")
    settle(world)
    cancel(world)


def is_deleted_between_attempts(world: World) -> None:
    say(world, "failed")
    settle(world)
    delete(world)


def fails_while_it_is_stopped(world: World) -> None:
    say(world, "started")
    settle(world)
    cancel(world)
    say(world, "failed")
    settle(world)


def is_handed_back_while_it_is_stopped(world: World) -> None:
    say(world, "started")
    settle(world)
    cancel(world)
    say(world, "declined")
    settle(world)


WAYS: dict[Callable[[World], None], EventType] = {
    expires: "expired",
    is_cancelled_unheard: "cancelled",
    is_cancelled_between_attempts: "cancelled",
    is_deleted_between_attempts: "cancelled",
    fails_while_it_is_stopped: "cancelled",
    is_handed_back_while_it_is_stopped: "cancelled",
}
way_to_end = pytest.mark.parametrize("end", WAYS, ids=lambda end: end.__name__)


@way_to_end
def test_what_is_said_late_of_it_brings_it_back_for_no_owner(end: Callable[[World], None]) -> None:
    world = handed_back()
    end(world)
    assert count(world, WAYS[end]) == 1
    world.lose_store()
    say(world, "started", 0)
    settle(world)
    say(world, "failed", 0)
    settle(world, 600 * SECOND)
    assert attempts(world) == [1, 1]


@way_to_end
@pytest.mark.parametrize("crash", ["before_commit", "after_commit"])
def test_its_end_is_told_once(end: Callable[[World], None], crash: str) -> None:
    """Also by an owner who finds nothing but the unsigned outcome."""
    world = handed_back()
    end(world)
    world.turn(crash=crash)
    world.lose_store()
    settle(world, 60 * SECOND)
    (kind, worker) = _last_word(world)
    assert (kind, worker) == (WAYS[end], UNSIGNED)
    assert len(reasons(world, WAYS[end])) == 1


def test_an_occurrence_that_waits_and_is_dropped_leaves_no_outcome() -> None:
    """Nobody has ever taken it up."""
    world = world_with(overlap="buffer_all")
    world.run_until(EPOCH + 170 * SECOND)
    before = len(world.log.outcomes)
    delete(world)
    runs = {OUTCOME.decode(r.value or b"").run_id for r in world.log.outcomes[before:]}
    assert runs <= {world.log.runs[0].run_id}
    assert count(world, "cancelled") >= 2


def _last_word(world: World) -> tuple[str, str]:
    outcome = OUTCOME.decode(world.log.outcomes[-1].value or b"")
    return outcome.kind, outcome.worker
