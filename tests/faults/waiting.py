"""Waiting for what must happen: however slow the machine, but not for ever."""

from collections.abc import Callable
from time import sleep
from typing import TypeVar

from tocsin import clock

T = TypeVar("T")

PATIENCE_S = 120.0
LOOK_EVERY_S = 0.05


class WaitedInVain(AssertionError):
    """What was waited for has not happened; the message says what it was."""


def until(look: Callable[[], T], what: str, patience_s: float = PATIENCE_S) -> T:
    """The first true answer of `look`, which is asked again and again."""
    deadline = clock.monotonic_ms() + patience_s * 1000
    while not (found := look()):
        if clock.monotonic_ms() >= deadline:
            raise WaitedInVain(f"not within {patience_s} s: {what}")
        sleep(LOOK_EVERY_S)
    return found
