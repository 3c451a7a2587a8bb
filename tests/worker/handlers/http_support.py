"""What tests of handler `http` share: runs, a handler against a server, answers."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from tests.worker.handlers.server import Received, Server, server
from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.port import HandlerFailed, Success
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT, handler_run

ALLOWED = ("127.0.0.0/8",)


def http_run(url: str, payload: object = None, **config: Any) -> Run:
    """`payload`: encoded as JSON unless it is bytes already."""
    return handler_run("http", {"url": url, **config}, payload)


@asynccontextmanager
async def http_handler(
    allow: tuple[str, ...] = ALLOWED,
    secrets: Secrets | None = None,
    resolver: AbstractResolver | None = None,
) -> AsyncIterator[HttpHandler]:
    handler = HttpHandler(allow, secrets or Secrets(None, {}), resolver)
    try:
        yield handler
    finally:
        await handler.close()


Scenario = Callable[[Server, HttpHandler], Awaitable[None]]


def play(scenario: Scenario, **handler: Any) -> None:
    async def main() -> None:
        async with server() as site, http_handler(**handler) as client:
            await scenario(site, client)

    asyncio.run(main())


async def succeed(handler: HttpHandler, run: Run) -> Any:
    """The result, decoded."""
    success = await handler.execute(run, CONTEXT)
    assert isinstance(success, Success)
    assert success.result is not None
    return json.loads(success.result)


async def fail(handler: HttpHandler, run: Run) -> Error:
    return (await failure(handler, run)).error


async def failure(handler: HttpHandler, run: Run) -> HandlerFailed:
    with pytest.raises(HandlerFailed) as caught:
        await handler.execute(run, CONTEXT)
    return caught.value


def sent(run_of: Callable[[str], Run], **handler: Any) -> Received:
    """What a server receives for a run that is built for its URL."""
    received: list[Received] = []

    async def scenario(site: Server, client: HttpHandler) -> None:
        await client.execute(run_of(site.url("/hook")), CONTEXT)
        received.extend(site.received)

    play(scenario, **handler)
    (one,) = received
    return one


class Names(AbstractResolver):
    """A name server that answers each question with the next of its addresses."""

    def __init__(self, *addresses: str) -> None:
        self._addresses = list(addresses)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        address = self._addresses.pop(0) if len(self._addresses) > 1 else self._addresses[0]
        return [
            ResolveResult(
                hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        return None


class Dripping:
    """Headers at once, then a byte now and then, as long as the client is there."""

    def __init__(self, status: int) -> None:
        self._status = status
        self.asked = asyncio.Event()
        self.gone = asyncio.Event()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=self._status, headers={"Content-Length": "100000"})
        await response.prepare(request)
        self.asked.set()
        while request.transport is not None and not request.transport.is_closing():
            await response.write(b"x")
            await asyncio.sleep(0.01)
        self.gone.set()
        return response
