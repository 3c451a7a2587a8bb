"""When the next sweep is due: so that retention keeps pace, and records do not wait for it.

Where nothing is left to remove a sweep comes every ten seconds. Where there is more, the next one
follows after a batch, as soon as sweeps stay within their share of the time: a fifth while records
wait to be read, half of it otherwise.
"""

EVERY_MS = 10_000
_REST_IN_A_RUSH = 4
_REST = 1
"""So many times as long as a sweep took, none follows it."""


class SweepPace:
    """Told when sweeps began and ended, all in milliseconds of one monotonic clock."""

    def __init__(self, now: int) -> None:
        """`now` counts as the end of a sweep that left nothing."""
        self._began = self._ended = now
        self._has_more = False

    def is_due(self, now: int, *, records_wait: bool) -> bool:
        """Whether a sweep may begin."""
        if not self._has_more:
            return now - self._began >= EVERY_MS
        rest = _REST_IN_A_RUSH if records_wait else _REST
        return now - self._ended >= rest * (self._ended - self._began)

    def swept(self, began: int, ended: int, *, has_more: bool) -> None:
        """A sweep is done; `has_more`: there is more to remove already."""
        self._began, self._ended, self._has_more = began, ended, has_more
