"""The rate at which a process emits backlogs and backfills."""


class CatchUpRate:
    """A bucket that fills with `per_second` runs a second and holds as many."""

    def __init__(self, per_second: int) -> None:
        self._per_second = per_second
        self._level = float(per_second)
        self._at: int | None = None

    def available(self, now: int) -> int:
        """How many runs may be emitted at `now`, epoch milliseconds."""
        if self._at is not None and now > self._at:
            filled = self._level + (now - self._at) * self._per_second / 1000
            self._level = min(float(self._per_second), filled)
        self._at = now
        return int(self._level)

    def take(self, runs: int) -> None:
        """So many were emitted."""
        self._level -= runs
