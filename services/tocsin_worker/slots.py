"""How many runs a worker executes at a time."""

from tocsin_worker.timers import Timers


class Slots:
    """Counts slots, and for how long none has been free."""

    def __init__(self, size: int, timers: Timers) -> None:
        self.size = size
        self._taken = 0
        self._timers = timers
        self._full_since: int | None = None

    @property
    def free(self) -> int:
        return self.size - self._taken

    @property
    def full_ms(self) -> int:
        """Milliseconds since the last free slot was taken; 0 while one is free."""
        if self._full_since is None:
            return 0
        return self._timers.monotonic_ms() - self._full_since

    def take(self) -> None:
        """Raises `RuntimeError` when none is free."""
        if not self.free:
            raise RuntimeError("no slot is free")
        self._taken += 1
        if not self.free:
            self._full_since = self._timers.monotonic_ms()

    def give_back(self) -> None:
        self._taken -= 1
        self._full_since = None
