"""When jobs and runs are to be looked at again, in the order of time.

Most timers of runs are deleted long before their instant, since the runs have ended, and a store is
slow to walk over deleted entries. So it is remembered where there is none.
"""

from collections.abc import Iterator

from tocsin_scheduler.core.overlay import Overlay
from tocsin_scheduler.core.place import TIMER, instant_bytes, instant_of

_REF_AT = len(TIMER) + 8
_SOON_MS = 1_000
"""A timer that divides what is empty soon after its beginning will have fired soon."""
_NEVER = 1 << 63
"""Later than any instant."""


class TimerIndex:
    """Entries `t ms ref` of one partition; instants are epoch milliseconds, those before 1970
    count as 0. It is the only one to write them, so long as there is none beside it."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        self.reset()

    def reset(self) -> None:
        """The entries may be others than were put and deleted here."""
        self._from = 0
        self._gap = (0, 0)
        self._next: int | None = None

    def put(self, instant: int, ref: bytes) -> None:
        self._overlay.put(TIMER + instant_bytes(instant) + ref, b"")
        instant = max(instant, 0)
        self._from = min(self._from, instant)
        if self._next is not None:
            self._next = min(self._next, instant)
        begin, end = self._gap
        if begin <= instant < end:
            soon = instant - begin < _SOON_MS
            self._gap = (instant + 1, end) if soon else (begin, instant)

    def delete(self, instant: int, ref: bytes) -> None:
        self._overlay.delete(TIMER + instant_bytes(instant) + ref)
        if max(instant, 0) == self._next:
            self._next = None

    def until(self, instant: int) -> Iterator[tuple[int, bytes]]:
        """(instant, reference) of the timers up to `instant`, in order.

        They count as seen: one that stays has to be put again.
        """
        first = self.next()
        self._from = max(self._from, instant + 1)
        if first is not None and first <= instant:
            self._next = None
            yield from self._between(first, instant + 1)

    def next(self) -> int | None:
        """The instant of the first timer."""
        if self._next is None:
            self._next = self._find()
        return None if self._next == _NEVER else self._next

    def _find(self) -> int:
        """Where the gap begins no later than the search, the search jumps over it; what it has
        found empty is the gap from now on."""
        start, (begin, end) = self._from, self._gap
        if start < begin:
            for found, _ in self._between(start, begin):
                return found
        beyond = self._between(max(start, end), _NEVER)
        found = next((instant for instant, _ in beyond), _NEVER)
        self._gap = (start, found)
        return found

    def _between(self, start: int, end: int) -> Iterator[tuple[int, bytes]]:
        first, last = TIMER + instant_bytes(start), TIMER + instant_bytes(end)
        for timer, _ in self._overlay.scan(first, last):
            yield instant_of(timer[len(TIMER) :]), timer[_REF_AT:]
