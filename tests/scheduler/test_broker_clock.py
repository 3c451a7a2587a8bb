"""The wall clock counts while it agrees with the brokers'; time never goes back."""

from tocsin.broker.port import AppendTime
from tocsin.testing import SettableClock
from tocsin_scheduler.shell.broker_clock import BrokerClock

HOUR_MS = 3_600_000


def agreeing() -> tuple[SettableClock, BrokerClock]:
    wall = SettableClock()
    clock = BrokerClock(wall)
    clock.see(AppendTime(wall.now_ms(), wall.monotonic_ms()))
    return wall, clock


def test_the_wall_clock_counts_before_anything_is_known_of_the_brokers() -> None:
    wall = SettableClock()
    assert BrokerClock(wall).now() == wall.now_ms()


def test_a_wall_clock_within_a_second_of_the_brokers_counts() -> None:
    wall, clock = agreeing()
    wall.set(wall.now_ms() + 900)
    assert clock.now() == wall.now_ms()
    assert not clock.is_off


def test_a_wall_clock_that_steps_ahead_does_not_count() -> None:
    wall, clock = agreeing()
    before = wall.now_ms()
    wall.set(before + HOUR_MS)
    wall.advance(10)
    assert clock.now() == before + 10
    assert clock.is_off


def test_a_wall_clock_that_steps_back_does_not_count() -> None:
    wall, clock = agreeing()
    before = clock.now()
    wall.set(before - HOUR_MS)
    wall.advance(10)
    assert clock.now() == before + 10


def test_time_never_goes_back() -> None:
    wall, clock = agreeing()
    before = clock.now()
    wall.set(before - 500)
    assert clock.now() == before


def test_a_report_that_was_long_under_way_does_not_make_the_brokers_slow() -> None:
    wall, clock = agreeing()
    append = wall.now_ms()
    wall.advance(10_000)
    clock.see(AppendTime(append, wall.monotonic_ms()))
    assert clock.now() == wall.now_ms()
    assert not clock.is_off
