"""A clock that stands still until it is told to move."""

from datetime import UTC, datetime

NEW_YEAR_2026 = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp()) * 1000


class SettableClock:
    """Stands in for `tocsin.clock`: the same two readings, moved by hand."""

    def __init__(self, now_ms: int = NEW_YEAR_2026) -> None:
        self._now_ms = now_ms
        self._monotonic_ms = 0

    def now_ms(self) -> int:
        """Wall-clock time, UTC epoch milliseconds."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """Milliseconds since the clock was made, whatever happened to the wall clock."""
        return self._monotonic_ms

    def advance(self, duration_ms: int) -> None:
        """Let time pass. Raises ValueError for a negative duration."""
        if duration_ms < 0:
            raise ValueError(f"time does not run back: {duration_ms} ms; use set() for a step")
        self._now_ms += duration_ms
        self._monotonic_ms += duration_ms

    def set(self, now_ms: int) -> None:
        """Step the wall clock, in either direction; no time passes."""
        self._now_ms = now_ms
