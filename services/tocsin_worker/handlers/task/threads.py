"""Blocking calls on threads that nobody has to wait for."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

R = TypeVar("R")


def call_on_thread(name: str, call: Callable[[], R]) -> "asyncio.Future[R]":
    """Make the call on a thread of its own; the future belongs to the running loop.

    A thread cannot be ended from outside. So it is none of a pool, which would be used up by calls
    that never return, and a daemon, for which the process does not wait.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()

    def run() -> None:
        try:
            result = call()
        except BaseException as error:  # noqa: BLE001 — the future's to raise
            _tell(loop, _fail, future, error)
        else:
            _tell(loop, _succeed, future, result)

    Thread(target=run, name=name, daemon=True).start()
    return future


def _tell(loop: asyncio.AbstractEventLoop, *args: object) -> None:
    """Nobody hears it once the loop has ended."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(*args)  # type: ignore[arg-type]


def _succeed(future: "asyncio.Future[R]", result: R) -> None:
    if not future.done():
        future.set_result(result)


def _fail(future: "asyncio.Future[R]", error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
