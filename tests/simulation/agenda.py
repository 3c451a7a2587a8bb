"""What is going to happen, in the order of its instants."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

Action = Callable[[], None]


class Agenda:
    """Actions at instants of virtual time, epoch milliseconds."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, Action]] = []
        self._numbers = count()

    def at(self, instant: int, action: Action) -> None:
        heappush(self._entries, (instant, next(self._numbers), action))

    def run_until(self, instant: int) -> None:
        """Do all that is due by then; what that puts here may be among it."""
        while self._entries and self._entries[0][0] <= instant:
            heappop(self._entries)[2]()
