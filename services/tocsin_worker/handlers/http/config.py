"""What a job says about its request: the configuration of handler `http`, made ready for use."""

import re
import socket
from functools import lru_cache

import msgspec
from yarl import URL

from tocsin.model.handlers.http import NETWORK
from tocsin.model.jobs import Handler
from tocsin.model.values import Value
from tocsin_worker.handlers.configs import read_config

_STATUSES = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


class Basic(Value, frozen=True):
    """RFC 7617. The password is a reference to a secret, the name may be one."""

    username: str
    password: str


class OAuth2(Value, frozen=True):
    """Client credentials, RFC 6749 §4.4. `client_secret` is a reference."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str | None = None
    audience: str | None = None


class Auth(Value, frozen=True):
    """Exactly one of them. `bearer` is a reference."""

    bearer: str | None = None
    basic: Basic | None = None
    oauth2: OAuth2 | None = None


class Signing(Value, frozen=True):
    """References to the secrets that each sign the request: several while one replaces another."""

    secrets: tuple[str, ...]


class Tls(Value, frozen=True):
    """References to PEM texts. `client_certificate` may hold the key too."""

    verify: bool = True
    ca: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None


class HttpConfig(Value, frozen=True):
    """As it stands in the job. `expect`, `retry_on`: statuses (`204`) and ranges (`"200-299"`)."""

    url: str
    method: str = "POST"
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    auth: Auth | None = None
    expect: tuple[int | str, ...] = ("200-299",)
    retry_on: tuple[int | str, ...] = (408, 425, 429, "500-599", NETWORK)
    redirects: int = 5
    signing: Signing | None = None
    tls: Tls | None = None
    proxy: str | None = None
    payload_encoding: str | None = None


class Request(msgspec.Struct, frozen=True):
    """A configuration made ready to be used: jobs run many times."""

    config: HttpConfig
    url: URL
    expected: frozenset[int]
    retried: frozenset[int]
    retries_network: bool


@lru_cache(maxsize=4096)
def parse_request(handler: Handler) -> Request:
    """Raises `HandlerFailed`, permanent."""
    config = read_config(handler, HttpConfig)
    statuses = tuple(item for item in config.retry_on if item != NETWORK)
    return Request(
        config,
        canonical(URL(config.url)),
        _statuses(config.expect),
        _statuses(statuses),
        len(statuses) < len(config.retry_on),
    )


def canonical(url: URL) -> URL:
    """The URL with an IPv4 address in its usual spelling: `0x7f.1` and `2130706433` are
    127.0.0.1, as browsers read them (WHATWG URL, IPv4 parser)."""
    host = url.host
    if host is None or not host[-1:].isalnum() or not host[0].isdigit():
        return url
    try:
        return url.with_host(socket.inet_ntoa(socket.inet_aton(host)))
    except OSError:
        return url


def _statuses(items: tuple[int | str, ...]) -> frozenset[int]:
    return frozenset(status for item in items for status in _range(str(item)))


def _range(item: str) -> range:
    match = _STATUSES.fullmatch(item)
    assert match is not None, "the model's rules hold"
    return range(int(match[1]), int(match[2] or match[1]) + 1)
