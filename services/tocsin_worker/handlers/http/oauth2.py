"""Access tokens by client credentials (RFC 6749 §4.4), kept until they end."""

import asyncio
import base64
from dataclasses import dataclass
from urllib.parse import quote_plus, urlencode
from weakref import WeakValueDictionary

import msgspec
from yarl import URL

from tocsin import clock
from tocsin.model.runs import Error
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.http.answer import read_head
from tocsin_worker.handlers.http.client import Client, Way
from tocsin_worker.handlers.http.config import OAuth2, canonical
from tocsin_worker.handlers.http.request import Hop
from tocsin_worker.handlers.port import HandlerFailed

MAX_ANSWER_BYTES = 64 * 1024
_LIFETIME_S = 300
"""Of a token whose answer does not say how long it lives."""
_MARGIN_S = 30
_RETRIED = frozenset({408, 425, 429, *range(500, 600)})


class _Answer(msgspec.Struct):
    access_token: str
    expires_in: float | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """`until`: monotonic milliseconds. `fresh`: it was got for this attempt."""

    value: str
    until: int
    fresh: bool


class Tokens:
    """One token for each configuration with its present secret; asked for once, by whoever needs
    it first."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._kept: dict[tuple[OAuth2, str], Token] = {}
        self._locks: WeakValueDictionary[tuple[OAuth2, str], asyncio.Lock] = WeakValueDictionary()

    async def token(self, oauth2: OAuth2, way: Way, disclosure: Disclosure) -> Token:
        """Raises `HandlerFailed` with what the token's server answers, or does not."""
        key = (oauth2, disclosure.resolve(oauth2.client_secret))
        async with self._locks.setdefault(key, asyncio.Lock()):
            kept = self._kept.get(key)
            if kept is None or kept.until <= clock.monotonic_ms():
                kept = await self._ask(oauth2, way, disclosure)
                self._forget_ended()
                self._kept[key] = Token(kept.value, kept.until, fresh=False)
        disclosure.note(kept.value)
        return kept

    def forget(self, token: Token) -> None:
        """A target has refused it."""
        self._kept = {k: kept for k, kept in self._kept.items() if kept.value != token.value}

    def _forget_ended(self) -> None:
        now = clock.monotonic_ms()
        self._kept = {key: kept for key, kept in self._kept.items() if kept.until > now}

    async def _ask(self, oauth2: OAuth2, way: Way, disclosure: Disclosure) -> Token:
        hop = _token_request(oauth2, disclosure)
        async with self._client.send(hop, way) as response:
            content = await read_head(response, MAX_ANSWER_BYTES)
        if response.status != 200:
            raise HandlerFailed(_refused(hop, response.status))
        try:
            answer = msgspec.json.decode(content, type=_Answer)
        except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError):
            message = f"{hop}: the answer holds no access token"
            raise HandlerFailed(Error(code="http_status", message=message)) from None
        lifetime_s = _LIFETIME_S if answer.expires_in is None else answer.expires_in
        until = clock.monotonic_ms() + int(max(0, min(lifetime_s, 86_400) - _MARGIN_S) * 1000)
        return Token(answer.access_token, until, fresh=True)


def _token_request(oauth2: OAuth2, disclosure: Disclosure) -> Hop:
    """The client names itself by Basic authentication (RFC 6749 §2.3.1)."""
    parts = (oauth2.client_id, oauth2.client_secret)
    pair = ":".join(quote_plus(disclosure.resolve(part)) for part in parts)
    form = {"grant_type": "client_credentials", "scope": oauth2.scope, "audience": oauth2.audience}
    return Hop(
        "POST",
        canonical(URL(oauth2.token_url)),
        {
            "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
            "Content-Type": "application/x-www-form-urlencoded",
            "Accept": "application/json",
        },
        urlencode({name: value for name, value in form.items() if value is not None}).encode(),
    )


def _refused(hop: Hop, status: int) -> Error:
    """Wrong credentials may have been put right by the next attempt, or be right elsewhere."""
    worth_it = status in _RETRIED or status in {400, 401, 403}
    message = f"{hop} answered {status} instead of giving a token"
    return Error(code="http_status", message=message, permanent=not worth_it)
