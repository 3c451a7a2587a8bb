"""Calls after one and the same delay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.support import ManualTimers
from tocsin_worker.timers import SameDelay

DELAY_MS = 1_000
LATER = st.none() | st.integers(0, 1_500).filter(lambda later: later != DELAY_MS)


@given(st.lists(st.tuples(st.integers(0, 700), LATER), max_size=30))
def test_each_comes_at_its_moment_unless_it_is_cancelled_before(
    asked: list[tuple[int, int | None]],
) -> None:
    """Asked for: after how long, and how much later it is cancelled."""
    timers = ManualTimers()
    begin = timers.monotonic_ms()
    soon = SameDelay(timers, DELAY_MS)
    came: list[tuple[int, int]] = []
    expected: list[tuple[int, int]] = []
    at = 0
    for number, (pause, cancelled_after) in enumerate(asked):
        at += pause

        def ask(number: int = number, cancelled_after: int | None = cancelled_after) -> None:
            timer = soon.after(lambda: came.append((number, timers.monotonic_ms() - begin)))
            if cancelled_after is not None:
                timers.after(cancelled_after, timer.cancel)

        timers.after(at, ask)
        if cancelled_after is None or cancelled_after > DELAY_MS:
            expected.append((number, at + DELAY_MS))
    timers.advance(at + 3 * DELAY_MS)
    assert came == expected


def test_one_may_be_asked_for_by_another() -> None:
    timers = ManualTimers()
    soon = SameDelay(timers, DELAY_MS)
    came: list[int] = []

    def ask_again() -> None:
        soon.after(lambda: came.append(timers.monotonic_ms()))

    soon.after(ask_again)
    begin = timers.monotonic_ms()
    timers.advance(3 * DELAY_MS)
    assert came == [begin + 2 * DELAY_MS]


@pytest.mark.parametrize("frozen_ms", [1, 10_000])
def test_after_a_freeze_what_is_late_comes_at_once(frozen_ms: int) -> None:
    timers = ManualTimers()
    soon = SameDelay(timers, DELAY_MS)
    came: list[int] = []
    for number in range(3):
        soon.after(lambda number=number: came.append(number))  # type: ignore[misc]
        timers.advance(1)
    timers.freeze(frozen_ms)
    timers.advance(DELAY_MS)
    assert came == [0, 1, 2]
