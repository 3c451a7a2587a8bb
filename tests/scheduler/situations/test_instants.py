"""Many occurrences at one instant, and clocks that disagree with it."""

from collections import Counter

import pytest

from tests.scheduler.situations.scene import (
    HOUR,
    MINUTE,
    ONCE,
    document,
    offsets,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH, World
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.core.turn import Budget

NOON = EPOCH + 40_000


def crowd(jobs: int, **given: object) -> World:
    """So many jobs of ten tenants, all due at one instant, one of a hundred of high priority."""
    world = World()
    for number in range(jobs):
        priority = "high" if number % 100 == 99 else "normal"
        fields = {"schedule": ONCE, "priority": priority, **given}
        world.put(f"tenant-{number % 10}/j{number}", document(**fields))
    world.turn()
    return world


def test_priorities_hold_inside_one_instant() -> None:
    world = World()
    for number in range(30):
        priority = ("low", "normal", "high")[number % 3]
        world.put(f"default/j{number}", document(priority=priority))
    world.run_until(NOON)
    order = [run.priority for run in world.log.runs]
    assert order == ["high"] * 10 + ["normal"] * 10 + ["low"] * 10


@pytest.mark.parametrize("overlap", ["allow_all", "skip"])
def test_b166_a_peak_is_emitted_in_bounded_transactions(overlap: str) -> None:
    """The watermark stands inside the instant between them."""
    world = crowd(2_000, overlap=overlap)
    world.now = NOON
    for emitted in (500, 1_000, 1_500, 2_000):
        assert world.turn(Budget(runs=500)) or emitted == 2_000
        assert len(world.log.runs) == emitted
        assert instant_of(world.log.place) == NOON
    world.turn()
    assert len({run.run_id for run in world.log.runs}) == len(world.log.runs) == 2_000


def test_b166_inside_a_peak_high_priority_comes_first_and_tenants_are_mixed() -> None:
    world = crowd(2_000)
    world.now = NOON
    world.turn(Budget(runs=500))
    order = [run.priority for run in world.log.runs]
    assert order == ["high"] * 20 + ["normal"] * 480
    tenants = Counter(run.tenant for run in world.log.runs)
    assert len(tenants) == 10
    assert max(tenants.values()) < 2 * 48


@pytest.mark.parametrize("crash", ["before_commit", "after_commit"])
@pytest.mark.parametrize("loses_store", [False, True])
def test_a_crash_inside_one_instant_loses_and_doubles_nothing(
    crash: str, loses_store: bool
) -> None:
    world = crowd(300)
    world.now = NOON
    for number in range(10):
        world.turn(Budget(runs=50), crash=crash if number % 2 else "")
        if loses_store:
            world.lose_store()
    settle(world)
    assert len({run.run_id for run in world.log.runs}) == len(world.log.runs) == 300


def test_a_transaction_is_bounded_by_bytes_too() -> None:
    world = crowd(50, payload="x" * 1_000)
    world.now = NOON
    world.turn(Budget(size=10_000))
    assert 8 <= len(world.log.runs) <= 11


def test_b105_a_clock_that_steps_back_repeats_nothing_and_silences_nothing() -> None:
    """Two hours ahead for a minute. W never moves back; what runs then runs by the log's time."""
    world = world_with()
    world.run_until(EPOCH + 5 * MINUTE)
    ahead = len(world.log.runs)
    world.now -= 2 * HOUR
    for _ in range(10):
        world.turn()
    assert len(world.log.runs) == ahead
    world.run_until(EPOCH + 10 * MINUTE)
    assert offsets(world) == [40 + 60 * minute for minute in range(10)]


def test_nothing_is_emitted_before_it_is_due() -> None:
    world = world_with()
    for millisecond in (-1_000, -1, 0):
        world.now = NOON + millisecond
        world.turn()
        assert len(world.log.runs) == int(millisecond == 0)
