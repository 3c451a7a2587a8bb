"""Making and revoking API tokens."""

from typing import NamedTuple

from tocsin.model.access import Role, Token
from tocsin_gateway.access.tokens import (
    TokenDirectory,
    hash_of,
    new_secret,
    revoked,
    status_of,
)
from tocsin_gateway.commands.command_log import CommandLog
from tocsin_gateway.commands.errors import NoSuchToken, TokenExists
from tocsin_gateway.projection.projector import Clock


class NewToken(NamedTuple):
    """A token with its secret, which nobody can find out later."""

    token: Token
    secret: str


class TokenCommands:
    """One method a command. All raise `CommandError`s.

    of: the tenant whose tokens alone exist for the caller; None = all tokens.
    """

    def __init__(self, log: CommandLog, directory: TokenDirectory, clock: Clock) -> None:
        self._log = log
        self._directory = directory
        self._clock = clock

    def tokens(self, of: str | None) -> list[Token]:
        """All of them, revoked and expired ones too, by name."""
        return [token for _, token in self._directory.tokens() if of in (None, token.tenant)]

    async def create(
        self, name: str, role: Role, tenant: str | None, expires_time: int | None
    ) -> NewToken:
        """Raises `TokenExists` where a token of that name is good."""
        now = self._clock.now_ms()
        if any(token.name == name for token in self._good(tenant)):
            raise TokenExists(f"the token {name} exists; revoke it first, or take another name")
        token = Token(
            name=name, tenant=tenant, role=role, created_time=now, expires_time=expires_time
        )
        secret = new_secret()
        await self._write(hash_of(secret), token)
        return NewToken(token, secret)

    async def revoke(self, name: str, of: str | None) -> None:
        """Raises `NoSuchToken`."""
        now = self._clock.now_ms()
        found = [
            (digest, token)
            for digest, token in self._directory.tokens()
            if token.name == name and of in (None, token.tenant) and token.revoked_time is None
        ]
        if not found:
            raise NoSuchToken(f"there is no token {name[:100]}")
        for digest, token in found:
            await self._write(digest, revoked(token, now))

    def _good(self, tenant: str | None) -> list[Token]:
        now = self._clock.now_ms()
        found = (token for _, token in self._directory.tokens() if token.tenant == tenant)
        return [token for token in found if status_of(token, now) == "active"]

    async def _write(self, digest: str, token: Token) -> None:
        delivered = await self._log.append_token(digest, token)
        if delivered.offset is not None:
            self._directory.put(digest, token, delivered.offset)
