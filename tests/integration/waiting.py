"""Waiting for something to become true."""

from collections.abc import Callable
from time import sleep

from tocsin import clock


def eventually(is_so: Callable[[], bool], patience: float, pause: float = 0.1) -> None:
    """Returns when `is_so` says yes; fails after `patience` seconds."""
    deadline = clock.monotonic_ms() + int(patience * 1000)
    while not is_so():
        assert clock.monotonic_ms() < deadline, f"not so within {patience} s"
        sleep(pause)
