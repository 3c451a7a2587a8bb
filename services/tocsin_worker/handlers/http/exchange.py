"""One attempt over HTTP: credentials, request, redirects, answer."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from contextlib import suppress

import aiohttp
from yarl import URL

from tocsin import clock
from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.configs import unusable
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.http import answer
from tocsin_worker.handlers.http.client import Client, Way
from tocsin_worker.handlers.http.config import Auth, Request
from tocsin_worker.handlers.http.oauth2 import Token, Tokens
from tocsin_worker.handlers.http.request import REDIRECTS, Headers, Hop, first_hop, redirected
from tocsin_worker.handlers.http.tls import tls_context
from tocsin_worker.handlers.port import Deferred, HandlerFailed, Success

LATER = "Tocsin-Completion"
"""`Tocsin-Completion: later` in a 202 answer defers the run."""

_EXCERPT_SECONDS = 1.0


class Exchange:
    """Used once."""

    def __init__(
        self,
        client: Client,
        tokens: Tokens,
        request: Request,
        disclosure: Disclosure,
        enter_host: Callable[[str], Awaitable[None]],
    ) -> None:
        """`enter_host`: see `port.Context`."""
        self._client = client
        self._tokens = tokens
        self._request = request
        self._disclosure = disclosure
        self._enter_host = enter_host
        self._token: Token | None = None

    async def perform(self, run: Run) -> Success | Deferred:
        """Raises `HandlerFailed`; no secret stands in what it says or keeps."""
        try:
            way = self._way()
            try:
                return await self._follow(await self._first(run, way), way)
            except _TokenRefused:
                return await self._follow(await self._first(run, way), way)
        except HandlerFailed as failed:
            raise self._without_secrets(failed) from failed.__cause__

    async def _first(self, run: Run, way: Way) -> Hop:
        credentials = await self._credentials(self._request.config.auth, way)
        return first_hop(run, self._request, self._disclosure, credentials)

    async def _follow(self, hop: Hop, way: Way) -> Success | Deferred:
        most = self._request.config.redirects
        for _ in range(most + 1):
            await self._enter_host(hop.url.raw_host or "")
            outcome = await self._send(hop, way)
            if not isinstance(outcome, Hop):
                return outcome
            hop = outcome
        message = f"{hop}: more than {most} redirects"
        raise HandlerFailed(Error(code="http_status", message=message, permanent=True))

    async def _send(self, hop: Hop, way: Way) -> Success | Deferred | Hop:
        """The answer as a success, or the next hop."""
        async with self._client.send(hop, way) as response:
            status = response.status
            if status in self._request.expected:
                result = await self._kept(response, answer.MAX_BODY_BYTES + 1)
                later = response.headers.get(LATER, "").strip().lower() == "later"
                return Deferred(result) if status == 202 and later else Success(result)
            if self._request.config.redirects and status in REDIRECTS:
                location = response.headers.get("Location")
                if location is not None:
                    return redirected(hop, status, location)
            if status == 401 and self._token is not None and not self._token.fresh:
                self._tokens.forget(self._token)
                raise _TokenRefused
            raise await self._failure(hop, response)

    async def _failure(self, hop: Hop, response: aiohttp.ClientResponse) -> HandlerFailed:
        """The status decides; a body that comes slowly or not at all does not hold it up."""
        body = bytearray()
        with suppress(TimeoutError, aiohttp.ClientError):
            async with asyncio.timeout(_EXCERPT_SECONDS):
                await answer.read_into(body, response, self._reach(answer.MAX_BODY_BYTES + 1))
        content = self._disclosure.hide_in(bytes(body))
        retryable = response.status in self._request.retried
        error = Error(
            code="http_status",
            message=answer.status_message(str(hop), response.status, content),
            permanent=not retryable,
            retry_after_ms=answer.retry_after_ms(
                response.headers.get("Retry-After"), clock.now_ms()
            )
            if retryable
            else None,
        )
        return HandlerFailed(error, self._result(response, content))

    async def _kept(self, response: aiohttp.ClientResponse, limit: int) -> bytes:
        """One byte more than is kept tells whether there was more; then the connection is
        closed."""
        content = await answer.read_head(response, self._reach(limit))
        return self._result(response, self._disclosure.hide_in(content))

    def _reach(self, limit: int) -> int:
        """So far that a secret at the limit is read whole, and can be hidden."""
        return limit + self._disclosure.longest

    def _result(self, response: aiohttp.ClientResponse, content: bytes) -> bytes:
        headers = {
            name.lower(): self._disclosure.hide(value) for name, value in response.headers.items()
        }
        return answer.result(response.status, headers, content, response.charset)

    async def _credentials(self, auth: Auth | None, way: Way) -> Headers:
        """The header `Authorization`, as the job wants it."""
        if auth is None:
            return {}
        if auth.oauth2 is not None:
            self._token = await self._tokens.token(auth.oauth2, way, self._disclosure)
            return {"Authorization": f"Bearer {self._token.value}"}
        if auth.basic is not None:
            names = (auth.basic.username, auth.basic.password)
            pair = ":".join(self._disclosure.resolve(name) for name in names)
            encoded = base64.b64encode(pair.encode()).decode()
            self._disclosure.note(encoded)
            return {"Authorization": f"Basic {encoded}"}
        return {"Authorization": f"Bearer {self._disclosure.resolve(auth.bearer or '')}"}

    def _way(self) -> Way:
        config = self._request.config
        return Way(
            None if config.proxy is None else self._proxy(config.proxy),
            tls_context(config.tls, self._disclosure),
            self._request.retries_network,
        )

    def _proxy(self, text: str) -> URL:
        url = URL(self._disclosure.resolve(text))
        if url.password:
            self._note_proxy(url)
        if url.scheme != "http" or not url.host:
            raise unusable("proxy: write http://HOST:PORT; requests to https pass through it too")
        return url

    def _note_proxy(self, url: URL) -> None:
        """The password, as the header says it and in both spellings that a URL has for it."""
        for spelling in (url.password, url.raw_password):
            self._disclosure.note(spelling or "")
        pair = f"{url.user or ''}:{url.password}"
        self._disclosure.note(base64.b64encode(pair.encode("latin-1", "replace")).decode())

    def _without_secrets(self, failed: HandlerFailed) -> HandlerFailed:
        error = failed.error
        hidden = self._disclosure.hide(error.message)
        if hidden == error.message:
            return failed
        return HandlerFailed(
            Error(
                code=error.code,
                message=hidden,
                permanent=error.permanent,
                retry_after_ms=error.retry_after_ms,
            ),
            failed.result,
        )


class _TokenRefused(Exception):
    """The target does not take a token that was kept from before: it may have been revoked."""
