"""Schedulers whose machines' clocks are wrong, step, or stood still: the brokers' time counts."""

import pytest

from tests.scheduler.nodes import Town
from tests.scheduler.outcomes import outcome_of

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
EARLIEST_MS = 1_000
"""How much the clocks may differ before the brokers' counts."""


def earliest(town: Town) -> int:
    """How long after its due instant the promptest run was appended, milliseconds."""
    return min(appended - run.due_time for run, appended in town.emitted())


@pytest.fixture
def town() -> Town:
    town = Town()
    for number in range(6):
        town.put(f"job-{number}", every_s=5)
    return town


@pytest.mark.parametrize("off_ms", [-20_000, -900, 900, 20_000, HOUR_MS])
def test_a_node_whose_clock_is_wrong_from_the_start_fires_nothing_early(
    town: Town, off_ms: int
) -> None:
    town.node("a", off_ms=off_ms)
    town.settle()
    town.pass_time(31_000)
    assert earliest(town) >= -EARLIEST_MS
    assert town.doubled() == []
    assert town.times("job-0") == [5, 10, 15, 20, 25, 30]


def test_b076_clocks_that_differ_make_one_run_a_slot_as_ownership_moves(town: Town) -> None:
    offs = {"a": 0, "b": 20_000, "c": -20_000}
    for name, off_ms in offs.items():
        town.node(name, off_ms=off_ms)
    for minute in range(6):
        town.pass_time(20_000)
        leaving = town.nodes[0]
        town.stop(leaving)
        town.node(f"{leaving.name}{minute}", off_ms=leaving.clock.off_ms)
    town.pass_time(10_000)
    assert earliest(town) >= -EARLIEST_MS
    assert town.doubled() == []
    for number in range(6):
        assert town.times(f"job-{number}") == list(range(5, 131, 5))


def test_b105_a_clock_that_is_two_hours_ahead_for_a_minute_silences_nothing(town: Town) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(30_000)
    node.clock.off_ms = 2 * HOUR_MS
    town.pass_time(MINUTE_MS)
    node.clock.off_ms = 0
    town.pass_time(30_000)
    assert town.doubled() == []
    assert town.times("job-0") == list(range(5, 121, 5))


@pytest.mark.parametrize("step_ms", [-2 * HOUR_MS, -30_000, 30_000, HOUR_MS])
def test_a_clock_that_steps_fires_nothing_early_and_silences_nothing(
    town: Town, step_ms: int
) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(30_000)
    node.clock.off_ms = step_ms
    town.pass_time(3 * MINUTE_MS)
    assert earliest(town) >= -EARLIEST_MS
    assert town.doubled() == []
    assert town.times("job-0") == list(range(5, 211, 5))


@pytest.mark.parametrize("off_ms", [-HOUR_MS, 0, HOUR_MS])
def test_a_successor_whose_clock_is_wrong_knows_which_runs_have_ended(off_ms: int) -> None:
    """What is said again of a run that has succeeded starts no second attempt."""
    town = Town()
    town.put("job-0", every_s=5, overlap="allow_all")
    node = town.node("a")
    town.settle()
    town.pass_time(6_000)
    (run,) = town.runs()
    for kind in ("started", "succeeded"):
        town.say(outcome_of(run, kind, town.clock.now_ms()))
        town.pass_time(1_000)
    town.delete("job-0")
    town.kill(node)
    town.node("b", off_ms=off_ms)
    town.say(outcome_of(run, "started", town.clock.now_ms()))
    town.pass_time(5 * MINUTE_MS)
    assert {run.attempt for run in town.runs()} == {1}
    assert not [event for event in town.events() if event.type == "lease_expired"]


def test_b108_a_timer_does_not_sleep_through_a_suspend() -> None:
    """The machine, broker and all, was suspended for eight hours: its monotonic clock stood."""
    town = Town()
    town.put("job", every_s=8 * 3_600)
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.clock.set(town.clock.now_ms() + 8 * HOUR_MS)
    town.pass_time(MINUTE_MS + 5_000)
    assert town.times("job") == [8 * 3_600]
