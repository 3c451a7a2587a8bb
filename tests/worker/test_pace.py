"""Runs that were sent away come again at the rate at which they can be executed."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tocsin_worker.pace import LATEST_MS, SOONEST_MS, Pace

NOW = 1_000_000


@given(
    durations=st.lists(st.integers(0, 600_000), max_size=40),
    limit=st.integers(1, 100),
    waits=st.lists(st.integers(0, 5_000), max_size=40),
)
def test_turns_come_in_order_and_within_bounds(
    durations: list[int], limit: int, waits: list[int]
) -> None:
    pace = Pace()
    for duration in durations:
        pace.took(duration)
    now, last = NOW, 0
    for wait in waits:
        now += wait
        turn = pace.next_turn(now, limit)
        assert turn >= min(last, now + LATEST_MS)
        assert SOONEST_MS <= turn - now <= LATEST_MS
        last = turn


def test_turns_are_as_far_apart_as_runs_pass_the_limit() -> None:
    pace = Pace()
    for _ in range(200):
        pace.took(400)
    turns = [pace.next_turn(NOW, limit=4) for _ in range(5)]
    assert [later - turn for turn, later in pairwise(turns)] == [100] * 4


def test_it_is_idle_when_all_turns_are_over() -> None:
    pace = Pace()
    assert pace.is_idle(NOW)
    turn = pace.next_turn(NOW, 1)
    assert not pace.is_idle(turn)
    assert pace.is_idle(turn + 1)
