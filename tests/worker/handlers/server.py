"""A real HTTP server on loopback, for tests: answers as told, and remembers what it was sent."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


SELF_SIGNED = Path(__file__).parents[2] / "data" / "tls" / "self-signed.pem"


def self_signed() -> ssl.SSLContext:
    """A certificate that nobody has reason to trust."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SELF_SIGNED)
    return context


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Server:
    """`port` on 127.0.0.1; `answers` by path, anything else is 200 with an empty body."""

    port: int = 0
    answers: dict[str, Answer] = field(default_factory=dict)
    received: list[Received] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def answer(self, path: str, status: int = 200, body: bytes = b"", **headers: str) -> None:
        """Answer this path with a fixed response; `_` in header names stands for `-`."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        async def fixed(request: web.Request) -> web.Response:
            return web.Response(status=status, body=body, headers=named)

        self.answers[path] = fixed

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.received.append(Received(request.method, request.path, dict(request.headers), body))
        answer = self.answers.get(request.path)
        return web.Response() if answer is None else await answer(request)


@asynccontextmanager
async def server(tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """A server on a free port, gone at the end with all its connections."""
    site = Server()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", site.handle)
    runner = web.AppRunner(app, shutdown_timeout=0, access_log=None)
    await runner.setup()
    try:
        listening = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await listening.start()
        site.port = runner.addresses[0][1]
        yield site
    finally:
        await runner.cleanup()
