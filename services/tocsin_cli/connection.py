"""The gateway that a command works on."""

from typing import TYPE_CHECKING

from tocsin.model.keys import InvalidKey, job_key
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import Invocation
from tocsin_cli.surroundings import settings

if TYPE_CHECKING:
    from tocsin.client import Client


def gateway(invocation: Invocation, *, timeout: float = 30.0, retries: int = 3) -> "Client":
    """A client of it; use in a `with` block. `timeout`: seconds of a try. Raises
    InvalidSettings, and CommandFailed for a tenant that there cannot be."""
    from tocsin.client import Client

    found = settings()
    if invocation.tenant is not None:
        _check_tenant(invocation.tenant)
    token = found.api_token
    return Client(
        found.gateway_url,
        token=None if token is None else token.get_secret_value(),
        tenant=invocation.tenant,
        timeout=timeout,
        retries=retries,
    )


def _check_tenant(tenant: str) -> None:
    try:
        job_key(tenant, "any")
    except InvalidKey as error:
        raise CommandFailed(f"--tenant: {error}", INVALID) from None
