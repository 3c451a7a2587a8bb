"""The handler keeps the promises that Tocsin asks of each, and does what it is for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from acme_tocsin.handler import RedisHandler

from tocsin_worker.handlers.port import Success
from tocsin_worker.testing import (
    CONTEXT,
    Case,
    CaseFactory,
    HandlerConformance,
    equipment,
    handler_run,
)


class FakeRedis:
    """Takes what is published; on the channel `silence` it never answers."""

    def __init__(self) -> None:
        self.published: list[tuple[str, bytes]] = []
        self.kept_waiting = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while words := await self._words(reader):
            match words:
                case [b"AUTH", b"s3cret"]:
                    writer.write(b"+OK\r\n")
                case [b"PUBLISH", b"silence", _]:
                    self.kept_waiting.set()
                case [b"PUBLISH", channel, message]:
                    self.published.append((channel.decode(), message))
                    writer.write(b":2\r\n")
                case _:
                    writer.write(b"-WRONGPASS no\r\n")
        writer.close()

    async def _words(self, reader: asyncio.StreamReader) -> list[bytes]:
        """One command; empty at the end."""
        words = []
        for _ in range(int((await reader.readline() or b"*0")[1:])):
            length = int((await reader.readline())[1:])
            words.append((await reader.readexactly(length + 2))[:-2])
        return words


@asynccontextmanager
async def redis() -> AsyncIterator[tuple[FakeRedis, str]]:
    """One, and its address."""
    fake = FakeRedis()
    server = await asyncio.start_server(fake.serve, "127.0.0.1", 0)
    async with server:
        yield fake, f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@asynccontextmanager
async def case_with_redis() -> AsyncIterator[Case]:
    async with redis() as (fake, address):
        place = {"address": address, "channel": "reports"}
        yield Case(
            RedisHandler(equipment(TOCSIN_SECRET_REDIS="s3cret", TOCSIN_SECRET_OLD="0ld")),
            handler_run("acme-redis", {**place, "password": "secret://redis"}, {"rows": 3}),
            failing=(
                handler_run("acme-redis", {"channel": "reports"}),
                handler_run("acme-redis", {"address": "127.0.0.1:1", "channel": "reports"}),
                handler_run("acme-redis", {**place, "password": "secret://old"}),
            ),
            hanging=(
                handler_run("acme-redis", {**place, "channel": "silence"}),
                fake.kept_waiting,
            ),
        )


class TestRedis(HandlerConformance):
    @pytest.fixture
    def case(self) -> CaseFactory:
        return case_with_redis


def test_it_publishes_the_payload() -> None:
    async def main() -> None:
        async with redis() as (fake, address):
            run = handler_run("acme-redis", {"address": address, "channel": "c"}, {"rows": 3})
            answer = await RedisHandler(equipment()).execute(run, CONTEXT)
            assert answer == Success(b'{"heard_by": 2}')
            assert fake.published == [("c", b'{"rows": 3}')]

    asyncio.run(main())
