"""The settable clock."""

import pytest

from tocsin.testing import SettableClock


def test_time_passes_only_when_told_to() -> None:
    clock = SettableClock(now_ms=1_000)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_000, 0)
    clock.advance(250)
    assert (clock.now_ms(), clock.monotonic_ms()) == (1_250, 250)


def test_a_step_of_the_wall_clock_is_no_passing_of_time() -> None:
    clock = SettableClock(now_ms=1_000)
    clock.set(400)
    assert (clock.now_ms(), clock.monotonic_ms()) == (400, 0)


def test_time_does_not_run_back() -> None:
    with pytest.raises(ValueError, match="-1 ms"):
        SettableClock().advance(-1)
