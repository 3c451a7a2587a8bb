"""A thread that notices when the loop has got stuck, and says where."""

import logging
import sys
import threading
import traceback
from collections.abc import Callable

from tocsin_scheduler.shell.broker_clock import Clock

LOG = logging.getLogger(__name__)

PATIENCE_MS = 30_000
"""After which the group puts a member out that has not polled."""


class Watchdog:
    """`beat` comes from the loop, once a round; `stuck` is asked by anybody."""

    def __init__(self, clock: Clock, patience_ms: int = PATIENCE_MS) -> None:
        self._clock = clock
        self._patience_ms = patience_ms
        self._beat = clock.monotonic_ms()
        self._loop_thread = threading.get_ident()
        self._has_barked = False

    def beat(self) -> None:
        """A round begins."""
        self._beat = self._clock.monotonic_ms()
        self._loop_thread = threading.get_ident()
        self._has_barked = False

    @property
    def stuck(self) -> str | None:
        """A sentence if the loop's round has lasted too long."""
        lasted = self._clock.monotonic_ms() - self._beat
        if lasted <= self._patience_ms:
            return None
        return f"the loop has been stuck for {lasted // 1000} s"

    def look(self) -> None:
        """Once for each time it gets stuck: the stacks of all threads, to the log."""
        if self._has_barked or self.stuck is None:
            return
        self._has_barked = True
        LOG.error(
            "%s\n%s", self.stuck, all_stacks(self._loop_thread), extra={"action": "loop_stuck"}
        )

    def watch(self, wait: Callable[[float], bool]) -> None:
        """Look every second until `wait(1.0)`, such as of an event, says that it is over."""
        while not wait(1.0):
            self.look()


def all_stacks(first: int) -> str:
    """The stacks of all threads, that of thread `first` in front."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = sorted(sys._current_frames().items(), key=lambda item: item[0] != first)
    return "\n".join(
        f"thread {names.get(ident, ident)}:\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in frames
    )
