"""Tokens of an OpenID Connect issuer (RFC 7519, OpenID Connect Discovery 1.0).

The issuer's keys are fetched from where its discovery document says, kept for ten minutes, and
fetched again where a token names a key that is not among them, at most every ten seconds. Keys of a
kind that is not known are left aside (RFC 7517 §5). An issuer that does not answer is asked again
after a second, and holds up one request at a time.
"""

import asyncio
import logging
from collections.abc import Mapping

import httpx
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import JWKRegistry, KeySet

from tocsin.model.access import ROLES, Role
from tocsin.model.keys import InvalidKey, job_key
from tocsin.model.values import Value
from tocsin_gateway.access.identity import Identity, NotAuthenticated, NotAuthorised
from tocsin_gateway.projection.projector import Clock

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA")
"""Signatures that only the issuer can make; none with a shared secret."""

ALL_TENANTS = "*"

_KEPT_MS = 600_000
_AGAIN_MS = 10_000
_SILENT_MS = 1_000
_LEEWAY_S = 30
_TIMEOUT_S = 5.0


class IssuerUnavailable(Exception):
    """The issuer's keys cannot be had; nothing can be said about its tokens now."""


class IssuerOptions(Value, frozen=True):
    """What of whose tokens counts. Claims may be nested: `realm_access.roles`."""

    url: str
    audience: str = "tocsin"
    role_claim: str = "tocsin_role"
    tenant_claim: str = "tocsin_tenant"


class Issuer:
    """Checks the tokens of one issuer. For the event loop."""

    def __init__(
        self,
        options: IssuerOptions,
        clock: Clock,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._options = options
        self._clock = clock
        self._transport = transport
        self._keys: KeySet | None = None
        self._fetched = self._tried = self._failed = -_KEPT_MS
        self._fetching = asyncio.Lock()

    async def identify(self, token: str) -> Identity:
        """Who holds this token. Raises `NotAuthenticated` where it is not good, `NotAuthorised`
        where it says no role or tenant, `IssuerUnavailable`."""
        claims = await self._claims(token)
        return Identity(
            actor=f"user:{_subject(claims)}"[:300],
            role=self._role(claims),
            tenant=self._tenant(claims),
        )

    async def _claims(self, token: str) -> Mapping[str, object]:
        keys = await self._known_keys()
        try:
            try:
                found = jwt.decode(token, keys, ALGORITHMS)
            except (InvalidKeyIdError, ValueError):
                found = jwt.decode(token, await self._newer_keys(keys), ALGORITHMS)
            self._registry().validate(found.claims)
        except (JoseError, ValueError, RecursionError) as error:
            raise NotAuthenticated(f"the token is not good: {_printable(error)}") from None
        return found.claims

    def _registry(self) -> jwt.JWTClaimsRegistry:
        return jwt.JWTClaimsRegistry(
            now=self._clock.now_ms() // 1000,
            leeway=_LEEWAY_S,
            iss={"essential": True, "value": self._options.url},
            aud={"essential": True, "value": self._options.audience},
            exp={"essential": True},
            sub={"essential": True},
        )

    def _role(self, claims: Mapping[str, object]) -> Role:
        """The highest one that the claim names."""
        named = _words(claims, self._options.role_claim)
        found = [role for role in ROLES if role in named]
        if not found:
            raise NotAuthorised(
                f"the claim {self._options.role_claim} names no role: {', '.join(ROLES)}"
            )
        return found[-1]

    def _tenant(self, claims: Mapping[str, object]) -> str | None:
        named = _words(claims, self._options.tenant_claim)
        if named == [ALL_TENANTS]:
            return None
        try:
            (tenant,) = named
            return job_key(tenant, "any").tenant
        except (ValueError, InvalidKey):
            raise NotAuthorised(
                f"the claim {self._options.tenant_claim} names no tenant, or several"
            ) from None

    async def _known_keys(self) -> KeySet:
        now = self._clock.monotonic_ms()
        is_fresh = now - self._fetched < _KEPT_MS
        if self._keys is not None and (is_fresh or self._fetching.locked()):
            return self._keys
        return await self._newer_keys(self._keys)

    async def _newer_keys(self, known: KeySet | None) -> KeySet:
        """Keys that somebody has fetched after `known`; those known where it is too early to ask
        again, or where the issuer does not answer."""
        async with self._fetching:
            now = self._clock.monotonic_ms()
            if self._keys is not None and (
                self._keys is not known or now - self._tried < _AGAIN_MS
            ):
                return self._keys
            if now - self._failed >= _SILENT_MS:
                self._tried = now
                await self._renew()
            if self._keys is None:
                raise IssuerUnavailable("the issuer of the token does not answer")
            return self._keys

    async def _renew(self) -> None:
        """Keep the keys that there are where the issuer gives none."""
        try:
            self._keys = await self._fetch()
            self._fetched = self._tried
        except (httpx.HTTPError, JoseError, ValueError, KeyError, TypeError) as error:
            log.warning("no keys of the issuer: %r", error, extra={"action": "issuer_failed"})
            self._failed = self._clock.monotonic_ms()

    async def _fetch(self) -> KeySet:
        async with httpx.AsyncClient(
            timeout=_TIMEOUT_S, transport=self._transport, follow_redirects=True
        ) as http:
            url = f"{self._options.url.rstrip('/')}/.well-known/openid-configuration"
            discovered = (await http.get(url)).raise_for_status().json()
            if discovered["issuer"] != self._options.url:
                raise ValueError(f"the issuer calls itself {discovered['issuer']!r}")
            found = (await http.get(discovered["jwks_uri"])).raise_for_status().json()
        return KeySet.import_key_set({"keys": list(filter(_is_known, found["keys"]))})


def _is_known(key: dict[str, str | list[str]]) -> bool:
    """Whether it is a key of a kind that is known, as far as it is one at all."""
    try:
        JWKRegistry.import_key(key)
    except (JoseError, ValueError, KeyError, TypeError) as error:
        log.warning("a key of the issuer: %s", error, extra={"action": "issuer_key_ignored"})
        return False
    return isinstance(key, dict)


def _printable(error: Exception) -> str:
    """Whatever the token says, the sentence can stand in an answer."""
    return str(error).encode(errors="backslashreplace").decode()


def _subject(claims: Mapping[str, object]) -> str:
    """Raises `NotAuthenticated` where it could not stand in a record of what was done."""
    subject = str(claims["sub"])
    if not subject.isprintable():
        raise NotAuthenticated("the claim sub has characters that cannot be printed")
    return subject


def _words(claims: Mapping[str, object], path: str) -> list[str]:
    """The text at a path of names with dots between, or the list of texts; else none."""
    found: object = claims
    if path in claims:
        found = claims[path]
    else:
        for name in path.split("."):
            found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        return [found]
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
