"""The event loop of a worker's process, from its making to its end, which nothing holds up."""

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from tocsin import clock
from tocsin_worker.threads import POOLED, pool

LOG = logging.getLogger(__name__)

_THREADS = 32
"""For what handlers of others send there; Tocsin's own have pools for each use."""
_PATIENCE_MS = 1_000


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run it to its end, and answer with what it does. Tasks that are left then, of handlers that
    ignore being cancelled, have a second to end; after it they are left behind."""
    loop = _loop_factory()()
    asyncio.set_event_loop(loop)
    executor = pool("default", _THREADS)
    loop.set_default_executor(executor)
    try:
        return loop.run_until_complete(main)
    finally:
        loop.run_until_complete(_end_what_is_left(loop))
        executor.shutdown(wait=False, cancel_futures=True)
        asyncio.set_event_loop(None)
        loop.close()


def leave_if_held_up(code: int) -> None:
    """To be called when the process is about to end: it ends here and now, with this code, if a
    thread is still at work that a handler has left behind. Python would wait for it."""
    until = clock.monotonic_ms() + _PATIENCE_MS
    for thread in threading.enumerate():
        if thread.name.startswith(POOLED):
            thread.join(max(0, until - clock.monotonic_ms()) / 1000)
            if thread.is_alive():
                LOG.warning("a thread is left behind", extra={"action": "thread_abandoned"})
                logging.shutdown()
                os._exit(code)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop where it exists: not on Windows."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop


async def _end_what_is_left(loop: asyncio.AbstractEventLoop) -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    left.add(asyncio.ensure_future(loop.shutdown_asyncgens()))
    _, still = await asyncio.wait(left, timeout=_PATIENCE_MS / 1000)
    if still:
        LOG.warning(
            "%d tasks ignore being cancelled; they are left behind",
            len(still),
            extra={"action": "tasks_abandoned"},
        )
