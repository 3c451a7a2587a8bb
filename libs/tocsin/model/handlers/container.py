"""The configurations of handlers `container` and `kubernetes`."""

import re
from typing import Final

from tocsin.model.fields import Fields, WrongValue, number, one_of, text
from tocsin.model.handlers.process import folder
from tocsin.model.handlers.texts import (
    VARIABLE,
    arguments,
    between,
    check_environment,
    matching,
    secret,
    text_or_secret,
)

PULL: Final = ("missing", "always", "never")
MIN_MEMORY: Final = 6 * 1024 * 1024
"""The least that Docker takes."""

_MEMORY = re.compile(r"(\d{1,12})([kmg]i?)?", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"k": 1024, "m": 1024**2, "g": 1024**3}
_SECRET_KEY = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/[A-Za-z0-9._-]{1,253}", re.ASCII)
_image = matching(
    re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}", re.ASCII), "an image such as alpine:3.20"
)
_container_user = matching(
    re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}(:[A-Za-z0-9_][A-Za-z0-9._-]{0,63})?", re.ASCII),
    "a user such as 1000 or 1000:1000",
)
_label = matching(
    re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII), "a name of a-z, 0-9 and '-'"
)
_account = matching(
    re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?", re.ASCII),
    "a name of a-z, 0-9, '.' and '-'",
)


def check_container(config: Fields) -> None:
    """Notes all that is wrong; see `docs/handlers.md` for the fields."""
    limits = _check_image(config, takes_secrets=True)
    if limits is not None:
        limits.read("pids", None, between(1, 1_000_000))
        limits.finish()
    _check_registry(config)
    config.read("user", None, _container_user)
    config.read("network", "default", one_of("default", "none"))
    config.read("stop_grace", 10, between(0, 300))
    config.finish()


def check_kubernetes(config: Fields) -> None:
    """Notes all that is wrong; see `docs/handlers.md` for the fields."""
    limits = _check_image(config, takes_secrets=False)
    if limits is not None:
        limits.finish()
    secret_env = config.texts("secret_env")
    for name, place in secret_env.items():
        if not VARIABLE.fullmatch(name) or not _SECRET_KEY.fullmatch(place):
            message = "is not a variable with NAME/KEY of a Kubernetes secret"
            config.error(("secret_env", name), "pattern", message)
    config.read("namespace", None, _label)
    config.read("service_account", None, _account)
    config.finish()


def _check_registry(config: Fields) -> None:
    auth = config.optional_section("registry_auth")
    if auth is not None:
        auth.require("username", "password")
        auth.read("username", "", text_or_secret)
        auth.read("password", "", secret)
        auth.finish()


def _check_image(config: Fields, *, takes_secrets: bool) -> Fields | None:
    """What both have; the limits, which the caller has to finish."""
    config.require("image")
    config.read("image", "", _image)
    config.read("command", None, arguments)
    config.read("args", None, arguments)
    config.read("working_directory", None, folder)
    config.read("pull", "missing", one_of(*PULL))
    check_environment(config, takes_secrets=takes_secrets)
    limits = config.optional_section("limits")
    if limits is not None:
        limits.read("memory", None, memory_bytes)
        limits.read("cpus", None, _cpus)
    return limits


def memory_bytes(value: object) -> int:
    """Bytes of `512m`, `2g` or a number; at least what an engine takes."""
    match = _MEMORY.fullmatch(text(value)) if isinstance(value, str) else None
    if isinstance(value, str) and match is None:
        raise WrongValue("pattern", "is not an amount such as 512m or 2g")
    if match is None:
        size = between(MIN_MEMORY, 2**50)(value)
    else:
        size = int(match[1]) * _UNITS.get((match[2] or "")[:1].lower(), 1)
    if not MIN_MEMORY <= size <= 2**50:
        raise WrongValue("minimum", f"is too little or too much: at least {MIN_MEMORY // 2**20}m")
    return size


def _cpus(value: object) -> float:
    cpus = number(value)
    if not 0.01 <= cpus <= 1024:
        raise WrongValue("minimum", "must lie between 0.01 and 1,024")
    return cpus
