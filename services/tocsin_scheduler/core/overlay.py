"""The effects of one transaction, held back until it has committed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tocsin_scheduler.core.store import Store

_REMEMBERED = 20_000
"""How many values that were read are kept, at most, while a transaction is prepared."""
_RECENT = 1_000
"""How many values that were written last are kept, at most: what is known of a run is asked for
again within moments."""
_SMALL = 256
"""Bytes of the longest of these."""


class Overlay:
    """A store with changes laid over it, kept apart by the first byte of their keys: a scan stays
    within one, and has to look at those changes alone. Nobody else writes to the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._laid: defaultdict[int, dict[bytes, bytes | None]] = defaultdict(dict)
        self._read: dict[bytes, bytes | None] = {}
        self._recent: dict[bytes, bytes | None] = {}

    @property
    def changes(self) -> dict[bytes, bytes | None]:
        """What a commit writes; None deletes."""
        return {key: value for laid in self._laid.values() for key, value in laid.items()}

    @property
    def size(self) -> int:
        """How many changes there are."""
        return sum(map(len, self._laid.values()))

    def get(self, key: bytes) -> bytes | None:
        laid = self._laid[key[0]]
        if key in laid:
            return laid[key]
        if key in self._read:
            return self._read[key]
        if key in self._recent:
            return self._recent[key]
        self._make_room()
        value = self._read[key] = self._store.get(key)
        return value

    def prefetch(self, keys: Sequence[bytes]) -> None:
        """Read the values that `get` will be asked for, together."""
        self._make_room()
        self._read.update(zip(keys, self._store.get_many(keys), strict=True))

    def _make_room(self) -> None:
        if len(self._read) > _REMEMBERED:
            self._read.clear()

    def put(self, key: bytes, value: bytes) -> None:
        self._laid[key[0]][key] = value

    def delete(self, key: bytes) -> None:
        self._laid[key[0]][key] = None

    def set(self, key: bytes, value: bytes | None) -> None:
        """`put`, or `delete` where the value is None."""
        self._laid[key[0]][key] = value

    def write_through(self, key: bytes, value: bytes) -> None:
        """A change that does not wait for the commit."""
        self._store.write({key: value})
        self._read.pop(key, None)
        self._recent.pop(key, None)

    def settle(self) -> None:
        """The changes are in the store."""
        if len(self._recent) + self.size > _RECENT:
            self._recent.clear()
        if self.size <= _RECENT:
            self._remember()
        self.clear()

    def _remember(self) -> None:
        recent = self._recent
        for laid in self._laid.values():
            for key, value in laid.items():
                if value is None or len(value) <= _SMALL:
                    recent[key] = value
                else:
                    recent.pop(key, None)

    def clear(self) -> None:
        """Forget all changes, and what was read meanwhile."""
        self._laid.clear()
        self._read.clear()

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Pairs in [start, end) in order, as they are at the call; later changes do not show.

        The range lies within the keys of one first byte.
        """
        laid = {key: value for key, value in self._laid[start[0]].items() if start <= key < end}
        return self.scan_over(start, end, laid)

    def scan_over(
        self, start: bytes, end: bytes, laid: dict[bytes, bytes | None]
    ) -> Iterator[tuple[bytes, bytes]]:
        """As `scan`, for whoever knows which changes lie in the range: all of them are `laid`."""
        if not laid:
            return self._store.scan(start, end)
        return _merged(self._store.scan(start, end), laid)


def _merged(
    stored: Iterator[tuple[bytes, bytes]], laid: dict[bytes, bytes | None]
) -> Iterator[tuple[bytes, bytes]]:
    waiting = sorted(laid.items())
    at = 0
    for key, value in stored:
        while at < len(waiting) and waiting[at][0] < key:
            yield from _present(waiting[at])
            at += 1
        if key not in laid:
            yield key, value
    for pair in waiting[at:]:
        yield from _present(pair)


def _present(pair: tuple[bytes, bytes | None]) -> Iterator[tuple[bytes, bytes]]:
    key, value = pair
    if value is not None:
        yield key, value
