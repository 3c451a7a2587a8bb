"""Threads beside the event loop: what they tell it, and their ends."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from typing import ParamSpec

P = ParamSpec("P")

POOLED = "worker-"
"""What the names of all threads of pools begin with."""


def pool(use: str, size: int) -> ThreadPoolExecutor:
    """Threads for calls that block, all of one use: while they are all taken, no other use waits.

    To be shut down by its owner, who need not wait: a call that does not return is left behind at
    the end of the process (`event_loop.leave_if_held_up`).
    """
    return ThreadPoolExecutor(size, f"{POOLED}{use}")


class Teller:
    """Tells the event loop what a thread has seen: in order, and without waiting."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __call__(self, event: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Nothing is told once the loop has ended: nobody is there any more."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(lambda: event(*args, **kwargs))


def ended(thread: Thread, seconds: float) -> bool:
    """Wait until a thread has ended, if it ever began; False if time was up before."""
    if thread.ident is not None:
        thread.join(seconds)
    return not thread.is_alive()
