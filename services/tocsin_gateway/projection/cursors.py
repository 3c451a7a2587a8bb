"""Opaque positions in a list: the sort key of the last item, in base64url."""

import base64
import json
from typing import TypeAlias, TypeGuard

from tocsin.model import strict_json
from tocsin.model.limits import LONG_MAX

Position: TypeAlias = tuple[int | str, ...]


class InvalidCursor(ValueError):
    """A cursor that this list has not given out."""


def write_cursor(order: str, position: Position) -> str:
    """`order`: the list and sort order that the position belongs to."""
    text = json.dumps([order, *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(order: str, cursor: str, *kinds: type[int] | type[str]) -> Position:
    """The position, of these kinds of values; raises `InvalidCursor`.

    Whatever comes back can be asked for: numbers are from 0 to 2**63-1, and texts have neither NUL
    nor half of a surrogate pair.
    """
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        data = base64.b64decode(padded.encode(), altchars=b"-_", validate=True)
        values = strict_json.loads(data)
    except ValueError:
        raise InvalidCursor("not a cursor") from None
    if not isinstance(values, list) or values[:1] != [order]:
        raise InvalidCursor("a cursor of another list or sort order")
    position = tuple(value for value in values[1:] if _is_askable(value))
    if len(position) != len(values) - 1 or [type(each) for each in position] != list(kinds):
        raise InvalidCursor("not a cursor")
    return position


def _is_askable(value: object) -> TypeGuard[int | str]:
    return isinstance(value, str) or (isinstance(value, int) and 0 <= value <= LONG_MAX)
