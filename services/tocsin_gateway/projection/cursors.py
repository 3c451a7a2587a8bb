"""Opaque positions in a list: the sort key of the last item, in base64url."""

import base64
import binascii
import json
from typing import TypeAlias

Position: TypeAlias = tuple[int | str, ...]


class InvalidCursor(ValueError):
    """A cursor that this list has not given out."""


def write_cursor(order: str, position: Position) -> str:
    """`order`: the list and sort order that the position belongs to."""
    text = json.dumps([order, *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(order: str, cursor: str, *kinds: type[int] | type[str]) -> Position:
    """The position, of these kinds of values; raises `InvalidCursor`."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        values = json.loads(base64.b64decode(padded.encode(), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise InvalidCursor("not a cursor") from None
    if not isinstance(values, list) or values[:1] != [order]:
        raise InvalidCursor("a cursor of another list or sort order")
    position = tuple(values[1:])
    if [type(value) for value in position] != list(kinds):
        raise InvalidCursor("not a cursor")
    return position
