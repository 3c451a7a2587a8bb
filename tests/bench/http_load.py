"""Requests at a steady rate, whether or not earlier ones have been answered."""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

import aiohttp

from tocsin import clock


class Call(NamedTuple):
    """A request; `body`, if any, is sent as JSON."""

    method: str
    path: str
    body: object = None


class Answered(NamedTuple):
    """due: when the request was to be sent, epoch ms. latency: from then to its last byte, ms."""

    due: int
    latency: float
    status: int


def load(url: str, calls: Iterator[Call], rate: int, seconds: int) -> list[Answered]:
    """`rate` of the calls a second, in the order of their due instants. A call that is sent late
    counts from when it was due, so that a stall is seen by all that wait behind it."""
    return asyncio.run(_load(url, calls, rate, seconds))


async def _load(url: str, calls: Iterator[Call], rate: int, seconds: int) -> list[Answered]:
    begin = clock.now_ms() + 100
    connector = aiohttp.TCPConnector(limit=256)
    async with (
        aiohttp.ClientSession(url, connector=connector) as session,
        asyncio.TaskGroup() as group,
    ):
        tasks = []
        for number in range(rate * seconds):
            due = begin + number * 1000 // rate
            await asyncio.sleep(max(0, due - clock.now_ms()) / 1000)
            tasks.append(group.create_task(_answered(session, next(calls), due)))
    return [task.result() for task in tasks]


async def _answered(session: aiohttp.ClientSession, call: Call, due: int) -> Answered:
    async with session.request(call.method, call.path, json=call.body) as response:
        await response.read()
        return Answered(due, clock.now_ms() - due, response.status)
