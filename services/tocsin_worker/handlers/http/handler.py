"""The handler itself."""

from collections.abc import Iterable

from aiohttp.abc import AbstractResolver

from tocsin.model.runs import Run
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.http.client import Client
from tocsin_worker.handlers.http.config import parse_request
from tocsin_worker.handlers.http.exchange import Exchange
from tocsin_worker.handlers.http.oauth2 import Tokens
from tocsin_worker.handlers.port import Context, Deferred, Success
from tocsin_worker.handlers.secrets import Secrets


class HttpHandler:
    """Sends the payload to a URL; success is a status in `expect`.

    Retried is what `retry_on` says: 408, 425, 429, 5xx and every failure of the network unless
    the job says otherwise. Other statuses are permanent. The time-out of an attempt is its
    executor's: it covers everything, name resolution included.
    """

    type = "http"

    def __init__(
        self, allow: Iterable[str], secrets: Secrets, resolver: AbstractResolver | None = None
    ) -> None:
        """`allow`: exceptions for the guard; raises `ValueError` for one that is wrong."""
        self._client = Client(allow, resolver)
        self._tokens = Tokens(self._client)
        self._secrets = secrets

    async def execute(self, run: Run, context: Context) -> Success | Deferred:
        request = parse_request(run.handler)
        disclosure = Disclosure(self._secrets)
        exchange = Exchange(self._client, self._tokens, request, disclosure, context.enter_host)
        return await exchange.perform(run)

    async def close(self) -> None:
        await self._client.close()
