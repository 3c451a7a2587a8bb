"""Which offset of a partition may be committed."""

from collections import deque


class OffsetTracker:
    """Follows the records of one partition from being read until they have passed.

    A record has passed when nothing would be lost if it were never read again. `lowest` is the
    lowest offset that has not: the one to commit. Offsets have holes, so it moves from record to
    record, and over a hole as soon as the record behind it is known.
    """

    def __init__(self, start: int) -> None:
        self._next = start
        self._open: deque[int] = deque()
        self._passed: set[int] = set()

    @property
    def lowest(self) -> int:
        return self._open[0] if self._open else self._next

    def read(self, offset: int) -> None:
        """A record was read; raises `ValueError` unless it lies behind all read before."""
        if offset < self._next:
            raise ValueError(f"offset {offset} read after {self._next - 1}")
        self._open.append(offset)
        self._next = offset + 1

    def passed(self, offset: int) -> None:
        """The record at this offset has passed. A second time says nothing new."""
        if offset < self.lowest:
            return
        self._passed.add(offset)
        while self._open and self._open[0] in self._passed:
            self._passed.remove(self._open.popleft())
