"""How many runs a worker executes at a time, and whether others should take what waits."""

from collections import deque

from tocsin_worker.timers import Timers

TICK_MS = 100
LATELY_TICKS = 20
HAND_ON_AFTER_MS = TICK_MS * LATELY_TICKS
"""No slot has been left over for so long: that is when others may be better off."""

FAST_A_SLOT = 8
FAST = 500
"""A worker that began so many runs for each slot lately, or so many in all, is no slow one: what
waits has its turn sooner than it would come to anybody else."""


class Slots:
    """Counts slots, and what is begun in them. Belongs to the event loop's thread.

        roomy ──the last slot is taken──► full ──and slow, for `HAND_ON_AFTER_MS`──► giving way
          ▲                                 │                                            │
          └──────────────── `offered`, and a slot is left over ──────────────────────────┘

    A slot that is given back and taken again at once is none that is left over.
    """

    def __init__(self, size: int, timers: Timers) -> None:
        self.size = size
        self._taken = 0
        self._timers = timers
        self._full_since: int | None = None
        self._giving_way = False
        self._begun = 0
        self._begun_at_ticks = deque([0], maxlen=LATELY_TICKS)

    @property
    def free(self) -> int:
        return self.size - self._taken

    @property
    def full_ms(self) -> int:
        """Milliseconds since the last slot was taken of which none has been left over since; 0
        before the first, and once one is."""
        if self._full_since is None:
            return 0
        return self._timers.monotonic_ms() - self._full_since

    def take(self) -> None:
        """Raises `RuntimeError` when none is free."""
        if not self.free:
            raise RuntimeError("no slot is free")
        self._taken += 1
        self._begun += 1
        if not self.free and self._full_since is None:
            self._full_since = self._timers.monotonic_ms()

    def give_back(self) -> None:
        self._taken -= 1

    def offered(self) -> None:
        """All that waits could have had a slot: one that is free now is left over."""
        if self.free:
            self._full_since = None
            self._giving_way = False

    def tick(self) -> None:
        """To be called every `TICK_MS`: how many were begun lately is counted by it."""
        self._begun_at_ticks.append(self._begun)

    def gives_way(self, waiting: int) -> bool:
        """Whether so many runs that wait here should go elsewhere, and what is read after them: the
        worker is slow, and would need as long again to begin them as none has been left over."""
        if self.full_ms < HAND_ON_AFTER_MS:
            return False
        lately = self._begun - self._begun_at_ticks[0]
        slow = lately < min(FAST_A_SLOT * self.size, FAST)
        self._giving_way = slow and (self._giving_way or lately <= waiting)
        return self._giving_way
