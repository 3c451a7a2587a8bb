"""Where the gateway is and as whom it is asked: arguments, else the environment."""

import os
import re
from typing import Final, NamedTuple

DEFAULT_URL: Final = "http://127.0.0.1:8080"

_TOKEN = re.compile("[!-~]+", re.ASCII)


class Connection(NamedTuple):
    """headers: of every request."""

    url: str
    headers: dict[str, str]


def connection_of(url: str | None, token: str | None, tenant: str | None) -> Connection:
    """What is None is taken from `TOCSIN_GATEWAY_URL`, `TOCSIN_API_TOKEN`, `TOCSIN_TENANT`. Raises
    ValueError for a token that no header can carry."""
    token = token or os.environ.get("TOCSIN_API_TOKEN")
    if token and not _TOKEN.fullmatch(token):
        raise ValueError("the token has blanks or other characters that no token has")
    tenant = tenant or os.environ.get("TOCSIN_TENANT")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"Tocsin-Tenant": tenant} if tenant else {}
    return Connection(url or os.environ.get("TOCSIN_GATEWAY_URL") or DEFAULT_URL, headers)
