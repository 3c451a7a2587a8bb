"""Texts that several handlers' configurations hold: readers for `Fields.read`, and header rules."""

import re
from collections.abc import Callable
from typing import Final

from tocsin.model.fields import Fields, WrongValue, kind_of, text, whole

SCHEME: Final = "secret://"
MAX_HEADERS: Final = 64
MAX_HEADER_BYTES: Final = 16 * 1024
MAX_ENV: Final = 256
MAX_ENV_BYTES: Final = 64 * 1024
MAX_ARGUMENTS: Final = 256
MAX_ARGUMENT_BYTES: Final = 64 * 1024

_SECRET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", re.ASCII)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*", re.ASCII)
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def filled(value: object) -> str:
    """Text that is not blank."""
    if not text(value).strip():
        raise WrongValue("blank", "is blank")
    return text(value)


def secret_name(reference: str) -> str | None:
    """The name in `secret://NAME`; None where the text is no reference or a wrong one."""
    name = reference.removeprefix(SCHEME)
    return name if name != reference and _SECRET_NAME.fullmatch(name) else None


def secret(value: object) -> str:
    """A reference to a secret. The value given is never repeated: it may be the secret itself."""
    if secret_name(text(value)) is None:
        message = "must be a reference such as secret://billing-token; workers hold the value"
        raise WrongValue("secret", message)
    return text(value)


def text_or_secret(value: object) -> str:
    """Any text that is not blank; one that begins as a reference must be one."""
    return secret(value) if text(value).startswith(SCHEME) else filled(value)


def matching(pattern: re.Pattern[str], form: str) -> Callable[[object], str]:
    """A reader of texts in one form; `form` completes the sentence `is not …`."""

    def read(value: object) -> str:
        if not pattern.fullmatch(text(value)):
            raise WrongValue("pattern", f"is not {form}")
        return text(value)

    return read


def between(low: int, high: int) -> Callable[[object], int]:
    """A reader of whole numbers, low <= n <= high."""

    def read(value: object) -> int:
        number = whole(value)
        if not low <= number <= high:
            keyword = "maximum" if number > high else "minimum"
            raise WrongValue(keyword, f"must lie between {low:,} and {high:,}")
        return number

    return read


def arguments(value: object) -> list[object]:
    """A list of texts, as a command is given; at least one."""
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise WrongValue("type", f"expected a list of texts, found {kind_of(value)}")
    if len(value) > MAX_ARGUMENTS or sum(map(len, value)) > MAX_ARGUMENT_BYTES:
        message = f"has at most {MAX_ARGUMENTS} texts with {MAX_ARGUMENT_BYTES:,} characters"
        raise WrongValue("size", message)
    return value


def check_environment(config: Fields, *, takes_secrets: bool = True) -> None:
    """`env`: names and values; a value may be a reference to a secret, where that is taken."""
    variables = config.texts("env")
    size = sum(len(name) + len(value) for name, value in variables.items())
    if len(variables) > MAX_ENV or size > MAX_ENV_BYTES:
        message = f"has at most {MAX_ENV} variables with {MAX_ENV_BYTES:,} characters"
        config.error(("env",), "size", message)
        return
    for name, value in variables.items():
        problem = _variable_problem(name, value)
        if problem is None and not takes_secrets and value.startswith(SCHEME):
            problem = "cannot hold a reference here: use secret_env"
        if problem:
            config.error(("env", name), "variable", f"variable {name[:80]!r} {problem}")


def _variable_problem(name: str, value: str) -> str | None:
    if not VARIABLE.fullmatch(name):
        return "is not a name: letters, digits and _, no digit first"
    if name.startswith("TOCSIN_"):
        return "is set by the worker: names that begin with TOCSIN_ tell which run it is"
    return _reference_problem(value)


def check_headers(config: Fields, reserved: frozenset[str]) -> None:
    """`headers`: names and values; a value may be a reference to a secret.

    `reserved`: names, in lower case, that the worker sets itself.
    """
    headers = config.texts("headers")
    size = sum(len(name) + len(value) for name, value in headers.items())
    if len(headers) > MAX_HEADERS:
        message = f"has {len(headers):,} headers; the most is {MAX_HEADERS}"
        config.error(("headers",), "count", message)
        return
    if size > MAX_HEADER_BYTES:
        message = f"has {size:,} bytes of headers; the most is {MAX_HEADER_BYTES:,}"
        config.error(("headers",), "size", message)
    seen: set[str] = set()
    for name, value in headers.items():
        problem = _header_problem(name, value, seen, reserved)
        if problem:
            config.error(("headers", name), "header", f"header {name[:80]!r} {problem}")
        seen.add(name.lower())


def _header_problem(name: str, value: str, seen: set[str], reserved: frozenset[str]) -> str | None:
    """What RFC 9110 or a sender has against it; the value is never repeated: it may be a secret."""
    if not _TOKEN.fullmatch(name):
        return "is not a header name: ASCII letters, digits and -, without blanks"
    if not _HEADER_VALUE.fullmatch(value):
        return "has a value with a line break, a NUL or a character outside ASCII"
    if name.lower() in reserved:
        return "is set by the worker itself"
    return "comes twice" if name.lower() in seen else _reference_problem(value)


def _reference_problem(value: str) -> str | None:
    if value.startswith(SCHEME) and secret_name(value) is None:
        return "has a reference that is none: write secret://NAME"
    return None
