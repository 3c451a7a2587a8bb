"""Lets in who may come in."""

import hmac

from tocsin_gateway.access.identity import LOOPBACK, STATIC, Identity, NotAuthenticated
from tocsin_gateway.access.issuer import Issuer
from tocsin_gateway.access.tokens import TokenDirectory, status_of
from tocsin_gateway.projection.projector import Clock


class NotReady(Exception):
    """The tokens are being read from the log."""


class Guard:
    """Knows the token of the settings, those of the log, and an issuer's.

    on_loopback: nobody else can reach the gateway, so that it may do without tokens as long as
    there is none of any kind.
    """

    def __init__(
        self,
        directory: TokenDirectory,
        clock: Clock,
        *,
        static: str | None,
        issuer: Issuer | None,
        on_loopback: bool,
    ) -> None:
        self._directory = directory
        self._clock = clock
        self._static = static
        self._issuer = issuer
        self._on_loopback = on_loopback

    async def identify(self, authorization: str | None) -> Identity:
        """Who sends this header. Raises `NotAuthenticated`, `NotAuthorised`, `NotReady`,
        `IssuerUnavailable`."""
        given = _bearer(authorization)
        if given and self._static and hmac.compare_digest(given.encode(), self._static.encode()):
            return STATIC
        if not self.is_ready:
            raise NotReady("the tokens are being read from the log; ask again soon")
        if self.is_open:
            return LOOPBACK
        if given is None:
            raise NotAuthenticated("send the header Authorization: Bearer and the token")
        return self._of_token(given) or await self._of_issuer(given)

    @property
    def is_ready(self) -> bool:
        """Whether the tokens of the log are known."""
        return self._directory.complete

    @property
    def is_open(self) -> bool:
        """Whether no token is asked for."""
        needs_none = self._static is None and self._issuer is None
        return self._on_loopback and needs_none and not self._directory.is_used

    def _of_token(self, given: str) -> Identity | None:
        token = self._directory.find(given)
        if token is None:
            return None
        status = status_of(token, self._clock.now_ms())
        if status != "active":
            raise NotAuthenticated(f"the token {token.name} is {status}")
        return Identity(actor=f"token:{token.name}", role=token.role, tenant=token.tenant)

    async def _of_issuer(self, given: str) -> Identity:
        if self._issuer is None or given.count(".") != 2:
            raise NotAuthenticated("there is no such token")
        return await self._issuer.identify(given)


def _bearer(authorization: str | None) -> str | None:
    scheme, _, given = (authorization or "").partition(" ")
    return given.strip() or None if scheme.lower() == "bearer" else None
