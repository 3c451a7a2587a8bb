"""Who may do what, and who did it."""

from typing import Final, Literal, get_args

from tocsin.model.values import Value

Role = Literal["viewer", "operator", "editor", "admin"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""Each includes those before it."""


class Token(Value, frozen=True, kw_only=True):
    """An API token; the record's key is its hash. `tenant` None = all tenants."""

    name: str
    tenant: str | None = None
    role: Role
    created_time: int
    expires_time: int | None = None
    revoked_time: int | None = None


class Audit(Value, frozen=True, kw_only=True):
    """One action of one actor on one object."""

    time: int
    tenant: str
    actor: str
    action: str
    object: str
    before_revision: int | None = None
    after_revision: int | None = None
    request_id: str
