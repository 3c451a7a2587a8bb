"""What the core asks of a store: an ordered key-value map."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol


class StoreDamaged(Exception):
    """What the disk holds cannot be read or written as it should; the message says what was tried.

    The store is a cache: wipe it and replay the log.
    """


class Store(Protocol):
    """Ordered by the bytes of the keys. One writer; nothing here blocks on a network.

    Every method raises `StoreDamaged`.
    """

    def get(self, key: bytes) -> bytes | None:
        """The value, or None."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The values of `keys`, in their order; faster than one by one where they are near."""

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs with start <= key < end, in order, as they were when the scan began."""

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        """All changes or none, in one batch; None deletes."""
