"""Single fields in Avro's binary encoding, for values that are put together by hand.

A record is the concatenation of its fields, so what many values share is encoded once.
"""

from functools import lru_cache
from typing import Final

NULL: Final = b"\0"
"""The branch `null` of a union that begins with it."""

_SOME: Final = b"\2"
"""The second branch of a union."""


@lru_cache(maxsize=4_096)
def long(value: int) -> bytes:
    """An int or long: zigzag, then seven bits a byte, the lowest first."""
    left = (value << 1) ^ (value >> 63)
    encoded = bytearray()
    while left > 0x7F:
        encoded.append(left & 0x7F | 0x80)
        left >>= 7
    encoded.append(left)
    return bytes(encoded)


@lru_cache(maxsize=4_096)
def text(value: str) -> bytes:
    """A string, of those that come again and again."""
    return sized(value.encode())


def sized(data: bytes) -> bytes:
    """Bytes, or a string in UTF-8: the length, and they."""
    return long(len(data)) + data


def boolean(value: bool) -> bytes:
    return b"\1" if value else b"\0"


def optional_long(value: int | None) -> bytes:
    """Of a union of null and long."""
    return NULL if value is None else _SOME + long(value)


def optional_text(value: str | None) -> bytes:
    """Of a union of null and string, of those that come again and again."""
    return NULL if value is None else _SOME + text(value)


def optional_bytes(data: bytes | None) -> bytes:
    """Of a union of null and bytes."""
    return NULL if data is None else _SOME + sized(data)
