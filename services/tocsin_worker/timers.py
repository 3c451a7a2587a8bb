"""Time, as the parts of a worker see it: two clocks and calls at a later moment."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

from tocsin import clock


class Timer(Protocol):
    """A call that will be made once, unless it is cancelled before."""

    def cancel(self) -> None: ...


class Timers(Protocol):
    """Owned by one thread, the one that its calls are made on."""

    def now_ms(self) -> int:
        """UTC epoch milliseconds: for what is recorded."""

    def monotonic_ms(self) -> int:
        """Milliseconds that never step: for what is measured."""

    def after(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        """Make the call no sooner than `delay_ms` from now."""


class LoopTimers:
    """The timers of the running event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()

    def now_ms(self) -> int:
        return clock.now_ms()

    def monotonic_ms(self) -> int:
        return clock.monotonic_ms()

    def after(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        return self._loop.call_later(max(0, delay_ms) / 1000, call)


class SameDelay:
    """Calls that all come after one and the same delay.

    They come due in the order in which they were asked for, so one timer at a time is enough, and
    most calls that are cancelled before cost next to nothing.
    """

    def __init__(self, timers: Timers, delay_ms: int) -> None:
        self._timers = timers
        self.delay_ms = delay_ms
        self._waiting: deque[_Entry] = deque()
        self._is_set = False

    def after(self, call: Callable[[], None]) -> Timer:
        """Make the call no sooner than `delay_ms` from now."""
        entry = _Entry(self._timers.monotonic_ms() + self.delay_ms, call)
        self._waiting.append(entry)
        if not self._is_set:
            self._set(self.delay_ms)
        return entry

    def _set(self, delay_ms: int) -> None:
        self._is_set = True
        self._timers.after(delay_ms, self._due)

    def _due(self) -> None:
        self._is_set = False
        now = self._timers.monotonic_ms()
        while self._waiting and (self._waiting[0].call is None or self._waiting[0].at <= now):
            call = self._waiting.popleft().call
            if call is not None:
                call()
        if self._waiting and not self._is_set:
            self._set(self._waiting[0].at - now)


class _Entry:
    """A call that waits; None once it is cancelled."""

    __slots__ = ("at", "call")

    def __init__(self, at: int, call: Callable[[], None]) -> None:
        self.at = at
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None
