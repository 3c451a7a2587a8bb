"""The gateway that a command works on."""

from typing import TYPE_CHECKING

from tocsin_cli.invocation import Invocation
from tocsin_cli.surroundings import settings

if TYPE_CHECKING:
    from tocsin.client import Client


def gateway(invocation: Invocation, *, timeout: float = 30.0, retries: int = 3) -> "Client":
    """A client of it; use in a `with` block. `timeout`: seconds of a try. Raises
    InvalidSettings."""
    from tocsin.client import Client

    found = settings()
    token = found.api_token
    return Client(
        found.gateway_url,
        token=None if token is None else token.get_secret_value(),
        tenant=invocation.tenant,
        timeout=timeout,
        retries=retries,
    )
