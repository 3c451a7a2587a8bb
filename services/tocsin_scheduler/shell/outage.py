"""Errors that a broker gives while it starts, and that mean something else at other times."""

from tocsin.broker.errors import Die
from tocsin_scheduler.shell.broker_clock import Clock

LASTS_MS = 30_000

_MISSING = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"})


class Outage:
    """A topic that was there at the start and is missing now has been deleted; but for a while
    after its start a broker may not know its topics."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: int | None = None

    def may_be_cause_of(self, error: Die) -> bool:
        """Whether the error may pass by itself after all."""
        now = self._clock.monotonic_ms()
        self._since = now if self._since is None else self._since
        return error.code in _MISSING and now - self._since < LASTS_MS

    def is_over(self) -> None:
        """Everything works."""
        self._since = None
