"""JSON as RFC 8259 means it, and nothing that two programs could read differently.

Refused beside what the grammar refuses: a byte order mark, NaN and Infinity, numbers that
overflow a double, integers of over 100 digits, a name twice in one object, more than 64 levels,
lone surrogates and NUL in strings (Avro, PostgreSQL and C programs cannot hold them).
"""

import json
import math
import re
from typing import NoReturn, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
JsonObject: TypeAlias = dict[str, JsonValue]

MAX_DEPTH = 64
MAX_DIGITS = 100

TOKEN = re.compile(
    r'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*"?)(?P<colon>[ \t\r\n]*:)?'
    r"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<other>[^\s\"\[\]{},:]+)",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|.)", re.DOTALL)


class InvalidJson(ValueError):
    """Bytes that are not strict JSON; `position` counts characters from 0."""

    def __init__(self, message: str, position: int, text: str = "") -> None:
        line = text.count("\n", 0, position) + 1
        column = position - text.rfind("\n", 0, position)
        super().__init__(f"{message}, at line {line} column {column}")
        self.position = position


class RefusedJson(InvalidJson):
    """JSON by its grammar, or by that of lenient parsers, of which two programs could make
    different things."""


class _Number(ValueError):
    """A number that is refused: a message, and the number as it is written."""


class _Repetition(ValueError):
    """An object that has a name twice."""


def loads(data: bytes) -> JsonValue:
    """The value that `data` is, the whole of it; raises `InvalidJson`, of which `RefusedJson`."""
    text = _decode(data)
    _check_depth(text)
    try:
        value: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidJson(_sentence(error), error.pos, text) from None
    except _Number as refused:
        message, number = refused.args
        raise RefusedJson(message, _position_of_number(text, number), text) from None
    except _Repetition:
        name, position = _repetition(text)
        raise RefusedJson(f"{name!r} twice in one object", position, text) from None
    if "\\u" in text:
        _check_escapes(text)
    return value


def dumps(value: JsonValue) -> bytes:
    """`value` in the fewest bytes: no blanks, UTF-8 not escaped, keys in their order.

    Raises `ValueError` for NaN, Infinity and lone surrogates.
    """
    return _ENCODER.encode(value).encode()


def _decode(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode()
        raise InvalidJson("not UTF-8", len(before), before) from None
    if text.startswith("\ufeff"):
        raise InvalidJson("a byte order mark in front; leave it out", 0)
    if not text.strip(" \t\r\n"):
        raise InvalidJson("nothing there; expected a JSON value", 0)
    return text


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for token in TOKEN.finditer(text):
        depth += (token["open"] is not None) - (token["close"] is not None)
        if depth > MAX_DEPTH:
            raise RefusedJson(f"more than {MAX_DEPTH} levels", token.start(), text)


def _check_escapes(text: str) -> None:
    """Only an escape can bring in NUL or half a pair; `text` is known to be JSON."""
    high_ends_at = None
    for escape in _ESCAPE.finditer(text):
        code = int(escape["code"] or "20", 16)
        if code == 0:
            raise RefusedJson("a NUL character", escape.start(), text)
        is_low = 0xDC00 <= code <= 0xDFFF
        if high_ends_at != (escape.start() if is_low else None):
            raise RefusedJson("half of a surrogate pair", escape.start(), text)
        high_ends_at = escape.end() if 0xD800 <= code <= 0xDBFF else None
    if high_ends_at is not None:
        raise RefusedJson("half of a surrogate pair", high_ends_at - 6, text)


def _position_of_number(text: str, number: str) -> int:
    return next(
        token.start() for token in TOKEN.finditer(text) if (token["other"] or "").startswith(number)
    )


def _repetition(text: str) -> tuple[str, int]:
    """The first name that an object has twice, and where; it is known that there is one."""
    names: list[set[str]] = []
    for token in TOKEN.finditer(text):
        if token["open"]:
            names.append(set())
        elif token["close"]:
            names.pop()
        elif token["colon"]:
            name: str = json.loads(token["string"])
            if name in names[-1]:
                return name[:40], token.start()
            names[-1].add(name)
    raise AssertionError("no name comes twice")


def _sentence(error: json.JSONDecodeError) -> str:
    if error.msg == "Extra data":
        return "something after the end of the value"
    message = error.msg.removesuffix(" at").removesuffix(" starting")
    return message[0].lower() + message[1:]


def _object(pairs: list[tuple[str, JsonValue]]) -> JsonObject:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _Repetition
    return members


def _integer(token: str) -> int:
    if len(token.lstrip("-")) > MAX_DIGITS:
        raise _Number(f"an integer of over {MAX_DIGITS} digits", token)
    return int(token)


def _float(token: str) -> float:
    number = float(token)
    if math.isinf(number):
        raise _Number(f"{token[:40]} is too large for a number", token)
    return number


def _constant(token: str) -> NoReturn:
    raise _Number(f"{token} is not JSON", token)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
