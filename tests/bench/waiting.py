"""Waiting for what other processes do."""

import time
from collections.abc import Callable

from tocsin import clock

PATIENCE_S = 300.0


class WaitedTooLong(Exception):
    """What was waited for has not come."""


def until(
    condition: Callable[[], bool],
    what: str,
    *,
    patience_s: float = PATIENCE_S,
    every_s: float = 0.1,
) -> None:
    """Ask again and again, `every_s` apart. Raises WaitedTooLong."""
    deadline = clock.monotonic_ms() + patience_s * 1000
    while not condition():
        if clock.monotonic_ms() > deadline:
            raise WaitedTooLong(f"waited {patience_s:g} s in vain until {what}")
        time.sleep(every_s)


def sleep_until(instant_ms: int) -> None:
    """Of the wall clock."""
    while (left_ms := instant_ms - clock.now_ms()) > 0:
        time.sleep(left_ms / 1000)
