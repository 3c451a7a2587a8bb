"""Waiting on the event loop for what other threads settle."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


async def settled(future: "Future[T]", timeout: float) -> T:  # noqa: ASYNC109 - not cancelled
    """The future's result; raises its error, or `TimeoutError` and leaves it be: an answer may
    come late."""
    return (await all_settled([future], timeout))[0]


async def all_settled(
    futures: Sequence["Future[T]"],
    timeout: float,  # noqa: ASYNC109 - not cancelled
) -> list[T]:
    """Their results, when all are settled; raises the error of the first that has one, or
    `TimeoutError`.

    As `asyncio.wrap_future` and `asyncio.wait` would, with a third of the work on the event loop.
    """
    if not futures:
        return []
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    left = len(futures)

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    def count_down() -> None:
        nonlocal left
        left -= 1
        if not left:
            end()

    def tell(_: "Future[T]") -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(count_down)

    for future in futures:
        future.add_done_callback(tell)
    timer = loop.call_later(timeout, end)
    try:
        await ended
    finally:
        timer.cancel()
    if left:
        raise TimeoutError
    return [future.result() for future in futures]
