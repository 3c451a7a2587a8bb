"""The store in memory, for tests and simulations."""

from collections.abc import Iterator, Mapping, Sequence

from sortedcontainers import SortedDict


class MemoryStore:
    """An ordered map; a scan sees the store as it was when the scan began.

    It outlives `close`, as a directory does.
    """

    def __init__(self) -> None:
        self._map: SortedDict[bytes, bytes] = SortedDict()

    def get(self, key: bytes) -> bytes | None:
        value: bytes | None = self._map.get(key)
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return [self._map.get(key) for key in keys]

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        keys = list(self._map.irange(start, end, inclusive=(True, False)))
        return iter([(key, self._map[key]) for key in keys])

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        for key, value in changes.items():
            if value is None:
                self._map.pop(key, None)
            else:
                self._map[key] = value

    def copy(self) -> "MemoryStore":
        """An independent store with the same content: what a crash leaves behind."""
        twin = MemoryStore()
        twin._map = self._map.copy()
        return twin

    def wipe(self) -> None:
        """Delete everything."""
        self._map.clear()

    def delete(self) -> None:
        """Leave nothing behind."""
        self._map.clear()

    def close(self) -> None:
        """Nothing to let go."""


class MemoryStores:
    """A node's stores in memory: those of one name are the same, as directories are."""

    def __init__(self) -> None:
        self.stores: dict[str, MemoryStore] = {}

    def open(self, name: str) -> MemoryStore:
        return self.stores.setdefault(name, MemoryStore())

    def copy(self) -> "MemoryStores":
        """What a crash leaves behind."""
        twin = MemoryStores()
        twin.stores = {name: store.copy() for name, store in self.stores.items()}
        return twin
