"""Sending one request: guard, proxy, TLS, and what can go wrong on the way."""

import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from tocsin import __version__
from tocsin.model.runs import Error
from tocsin_worker.handlers.configs import unusable
from tocsin_worker.handlers.http.guard import Guard
from tocsin_worker.handlers.http.request import Hop
from tocsin_worker.handlers.http.resolver import Resolver
from tocsin_worker.handlers.port import HandlerFailed


@dataclass(frozen=True, slots=True)
class Way:
    """How requests of an attempt travel. `retries`: whether a failure on the way is worth
    another attempt."""

    proxy: URL | None = None
    tls: ssl.SSLContext | bool = True
    retries: bool = True


class Client:
    """No cookies, no proxies from the environment, no limits beside the worker's slots."""

    def __init__(self, allow: Iterable[str], resolver: AbstractResolver | None = None) -> None:
        """`allow`: exceptions for the guard; raises `ValueError` for one that is wrong."""
        self._guard = Guard(allow)
        self._resolver = resolver or Resolver()
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def send(self, hop: Hop, way: Way) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer, its body still to be read. Raises `HandlerFailed`, also for what goes
        wrong while it is read inside. Redirects are not followed."""
        gate = hop.url if way.proxy is None else way.proxy
        try:
            if way.proxy is not None:
                await self._guard.examine(hop.url.raw_host or "", self._resolver)
            with self._guard.heading_for(gate.raw_host or ""):
                async with self._request(hop, way) as response:
                    yield response
        except aiohttp.InvalidURL:
            raise unusable(f"{hop}: the URL cannot be used") from None
        except (aiohttp.ClientError, OSError) as error:
            message = f"{hop}: {type(error).__name__}: {_said(error)}"
            failure = Error(code="connect", message=message, permanent=not way.retries)
            raise HandlerFailed(failure) from error
        except ValueError as error:  # after ClientError: a bad certificate is both
            raise unusable(f"{hop}: {error}") from error

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        await self._resolver.close()

    def _request(self, hop: Hop, way: Way) -> "aiohttp.client._RequestContextManager":
        if self._session is None:
            self._session = self._new_session()
        return self._session.request(
            hop.method,
            hop.url,
            headers=hop.headers,
            data=hop.body,
            allow_redirects=False,
            proxy=way.proxy,
            ssl=way.tls,
        )

    def _new_session(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=0, socket_factory=self._guard.open_socket, resolver=self._resolver
        )
        return aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
            headers={"User-Agent": f"tocsin/{__version__}", "Accept-Encoding": "identity"},
            skip_auto_headers=("Content-Type",),
        )


def _said(error: Exception) -> str:
    """What an error says, without the URL that aiohttp puts into those about answers: that of a
    proxy holds its password, others may hold a token in their query."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{error.status} {error.message}"
    return str(error)
