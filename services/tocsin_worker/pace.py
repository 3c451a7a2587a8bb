"""How fast runs pass a limit, and when those that were sent away should come again."""

SOONEST_MS = 1_000
LATEST_MS = 60_000
"""A run that was sent away comes again no sooner, and no later."""

_FIRST_GUESS_MS = 1_000.0
_MEMORY = 8


class Pace:
    """Of one limit. Instants are milliseconds of a clock that never steps.

    Whoever is sent away gets a turn of its own, as far behind the last as one run takes: so they
    come at the rate at which they can be executed, and in the order in which they went.
    """

    def __init__(self) -> None:
        self._mean_ms = _FIRST_GUESS_MS
        self._last_turn = 0

    def took(self, duration_ms: int) -> None:
        """A run under this limit has ended."""
        self._mean_ms += (duration_ms - self._mean_ms) / _MEMORY

    def stood_still(self, for_ms: int, limit: int) -> None:
        """No run under this limit has ended for so long, though `limit` of them executed."""
        self._mean_ms = max(self._mean_ms, for_ms * limit)

    def wait_ms(self, limit: int) -> float:
        """After how long a place becomes free, by what was seen lately."""
        return self._mean_ms / limit

    def next_turn(self, now: int, limit: int) -> int:
        """When the next that is sent away should come again; `limit` run at a time."""
        step = max(1, round(self.wait_ms(limit)))
        turn = max(self._last_turn, now + SOONEST_MS) + step
        self._last_turn = min(turn, now + LATEST_MS)
        return self._last_turn

    def is_idle(self, now: int) -> bool:
        """Whether all turns are over."""
        return self._last_turn < now
