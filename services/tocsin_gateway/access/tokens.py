"""API tokens: made of random bytes, known by their hashes.

A token's secret is shown once, when it is made. The log has its SHA-256: 256 random bits need
neither salt nor a slow hash.
"""

import hashlib
import secrets
from threading import Lock
from typing import Literal, NamedTuple

import msgspec

from tocsin.model.access import Token

PREFIX = "tocsin_"
"""How each token begins, so that scanners for leaked secrets can find it."""

TokenStatus = Literal["active", "expired", "revoked"]


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def hash_of(secret: str) -> str:
    """The key of a token's record."""
    return hashlib.sha256(secret.encode()).hexdigest()


def status_of(token: Token, now: int) -> TokenStatus:
    if token.revoked_time is not None:
        return "revoked"
    expired = token.expires_time is not None and token.expires_time <= now
    return "expired" if expired else "active"


class _Known(NamedTuple):
    offset: int
    token: Token | None


class TokenDirectory:
    """All tokens, in memory: there are few. For any thread.

    complete: the log has been read to its end once.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, _Known] = {}
        self.complete = False

    def put(self, digest: str, token: Token | None, offset: int) -> None:
        """What the record at `offset` says; None = forgotten. An older record changes nothing."""
        with self._lock:
            known = self._known.get(digest)
            if known is None or known.offset < offset:
                self._known[digest] = _Known(offset, token)

    def find(self, secret: str) -> Token | None:
        """The token of that secret, whatever its status."""
        with self._lock:
            known = self._known.get(hash_of(secret))
        return None if known is None else known.token

    def tokens(self) -> list[tuple[str, Token]]:
        """Hash and token of all, by name and age."""
        with self._lock:
            found = [(name, each.token) for name, each in self._known.items() if each.token]
        return sorted(found, key=lambda item: (item[1].name, item[1].created_time))

    @property
    def is_used(self) -> bool:
        """Whether there is any token, one that is not good any more included."""
        with self._lock:
            return any(known.token is not None for known in self._known.values())


def revoked(token: Token, now: int) -> Token:
    return msgspec.structs.replace(token, revoked_time=now)
