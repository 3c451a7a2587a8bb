"""Name resolution, on threads of its own."""

import asyncio
import socket
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

from tocsin_worker.threads import pool

_THREADS = 256


class Resolver(AbstractResolver):
    """The system's: with its hosts file, search domains and name servers.

    A look-up cannot be cut short. Where no name server answers it holds its thread for as long as
    resolv.conf(5) says, though the attempt that asked has ended; hence so many threads.
    """

    def __init__(self) -> None:
        self._threads = pool("names", _THREADS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Raises `OSError` where the name has no address, or nobody can tell."""
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _look_up, host, port, family)
        return [
            ResolveResult(
                hostname=host,
                host=_text(address),
                port=port,
                family=family,
                proto=proto,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for family, _, proto, _, address in found
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    return socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_ADDRCONFIG)


def _text(address: tuple[Any, ...]) -> str:
    """A link-local address of IPv6 is one of an interface, its scope."""
    scope = address[3] if len(address) > 2 else 0
    return f"{address[0]}%{scope}" if scope else str(address[0])
