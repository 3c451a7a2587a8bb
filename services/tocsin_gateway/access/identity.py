"""Who sends a request, and what they may do."""

from tocsin.model.access import ROLES, Role
from tocsin.model.values import Value


class Identity(Value, frozen=True):
    """actor: as the audit log names it. tenant: whose objects alone exist for them; None = they
    choose one with each request."""

    actor: str
    role: Role
    tenant: str | None = None

    def may(self, role: Role) -> bool:
        """Whether their role includes this one."""
        return ROLES.index(self.role) >= ROLES.index(role)


LOOPBACK = Identity(actor="loopback", role="admin")
"""Whoever asks from this machine, where no token exists."""

STATIC = Identity(actor="token:TOCSIN_API_TOKEN", role="admin")
"""Who has the token of the gateway's own settings."""


class NotAuthenticated(Exception):
    """Nobody is known by what was sent; the message tells the sender why."""


class NotAuthorised(Exception):
    """Who was sent is known, but not what they may do; the message tells the sender why."""


class Caller(Value, frozen=True):
    """Who acts, in which tenant, by which request."""

    identity: Identity
    tenant: str
    request_id: str
