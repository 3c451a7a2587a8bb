"""The configuration of handler `http`."""

import re
from typing import Final
from urllib.parse import urlsplit

from tocsin.model.fields import Fields, WrongValue, kind_of, one_of, text, truth
from tocsin.model.handlers.texts import (
    SCHEME,
    between,
    check_headers,
    filled,
    secret,
    text_or_secret,
)

MAX_URL: Final = 8_192
MAX_REDIRECTS: Final = 20
MAX_SIGNING_SECRETS: Final = 10
NETWORK: Final = "network"
"""In `retry_on`: every failure before there is an answer."""

_NOT_IN_URL = re.compile(r"[^\x21-\x7e]")
_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_STATUSES = re.compile(r"([1-5]\d\d)(?:-([1-5]\d\d))?", re.ASCII)
_RESERVED: Final = frozenset({"connection", "content-length", "transfer-encoding", "upgrade"})


def check_http(config: Fields) -> None:
    """Notes all that is wrong; see `docs/handlers.md` for the fields."""
    config.require("url")
    config.read("url", "", _url)
    config.read("method", "POST", one_of(*_METHODS))
    config.read("payload_encoding", None, one_of("base64"))
    config.read("expect", (), _expected)
    config.read("retry_on", (), _retried)
    config.read("redirects", 0, between(0, MAX_REDIRECTS))
    config.read("proxy", None, _proxy)
    check_headers(config, _RESERVED)
    _check_auth(config)
    _check_signing(config)
    _check_tls(config)
    config.finish()


def _url(value: object) -> str:
    """An absolute http or https URL in ASCII, without credentials."""
    url = text(value)
    if len(url) > MAX_URL or _NOT_IN_URL.search(url):
        message = (
            f"is not a URL: at most {MAX_URL:,} visible ASCII characters; escape others as %XX"
        )
        raise WrongValue("url", message)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise WrongValue("url", f"is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise WrongValue("url", "must begin with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise WrongValue("url", "must not hold credentials; use auth with a secret")
    return url


def _proxy(value: object) -> str:
    """A URL, or a secret that holds one, which may have credentials in it."""
    return secret(value) if text(value).startswith(SCHEME) else _url(value)


def _expected(value: object) -> list[object]:
    """Statuses that mean success: `[204, "200-299"]`."""
    if not isinstance(value, list) or not value:
        raise WrongValue("type", f'expected a list such as ["200-299"], found {kind_of(value)}')
    for item in value:
        _check_status(item)
    return value


def _retried(value: object) -> list[object]:
    """Statuses that another attempt may cure, and `network`; an empty list is none."""
    if not isinstance(value, list):
        found = kind_of(value)
        raise WrongValue("type", f'expected a list such as [429, "500-599"], found {found}')
    for item in value:
        if item != NETWORK:
            _check_status(item)
    return value


def _check_status(item: object) -> None:
    match = None if isinstance(item, bool) else _STATUSES.fullmatch(str(item))
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise WrongValue("status", f"{str(item)[:40]!r} is not a status or range such as 200-299")


def _check_auth(config: Fields) -> None:
    auth = config.optional_section("auth")
    if auth is None:
        return
    auth.read("bearer", None, secret)
    basic = auth.optional_section("basic")
    if basic is not None:
        basic.require("username", "password")
        basic.read("username", "", text_or_secret)
        basic.read("password", "", secret)
        basic.finish()
    oauth2 = auth.optional_section("oauth2")
    if oauth2 is not None:
        _check_oauth2(oauth2)
    if auth.is_object and sum(map(auth.has, ("bearer", "basic", "oauth2"))) != 1:
        auth.error((), "required", "needs one of bearer, basic and oauth2")
    auth.finish()


def _check_oauth2(oauth2: Fields) -> None:
    """Client credentials, RFC 6749 §4.4."""
    oauth2.require("token_url", "client_id", "client_secret")
    oauth2.read("token_url", "", _url)
    oauth2.read("client_id", "", text_or_secret)
    oauth2.read("client_secret", "", secret)
    oauth2.read("scope", None, filled)
    oauth2.read("audience", None, filled)
    oauth2.finish()


def _check_signing(config: Fields) -> None:
    signing = config.optional_section("signing")
    if signing is not None:
        signing.require("secrets")
        signing.read("secrets", (), _signing_secrets)
        signing.finish()


def _signing_secrets(value: object) -> list[object]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_SIGNING_SECRETS:
        message = f"expected a list of 1 to {MAX_SIGNING_SECRETS} references to secrets"
        raise WrongValue("type", message)
    for item in value:
        secret(item)
    return value


def _check_tls(config: Fields) -> None:
    tls = config.optional_section("tls")
    if tls is None:
        return
    tls.read("verify", True, truth)
    for name in ("ca", "client_certificate", "client_key"):
        tls.read(name, None, secret)
    if tls.has("client_key") and not tls.has("client_certificate"):
        tls.error(("client_certificate",), "required", "client_key needs its client_certificate")
    tls.finish()
