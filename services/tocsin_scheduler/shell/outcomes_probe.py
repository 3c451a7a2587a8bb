"""How far outcomes have been read, as an instant.

Where the absence of an outcome decides, outcomes must have been read to an end that was asked for
after the instant in question. One request asks for the ends of all owned partitions.
"""

from collections.abc import Mapping

from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.sources import Sources


class OutcomesProbe:
    """At most one question is open; who needs a later answer asks again."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._asked_at = 0
        self._ends: dict[int, int] = {}

    @property
    def is_open(self) -> bool:
        return bool(self._ends)

    def ask(self, lives: Mapping[int, Live], now: int) -> None:
        """Ask where the outcomes of all these partitions end, as of `now`."""
        self._ends = self._sources.outcome_ends(lives.values())
        self._asked_at = now

    def settle(self, lives: Mapping[int, Live]) -> None:
        """Tell the partitions that have been read to the end that was asked for. All records that
        were returned must have been applied."""
        for number, end in list(self._ends.items()):
            live = lives.get(number)
            if live is None:
                del self._ends[number]
            elif self._sources.outcome_position(number) >= end:
                del self._ends[number]
                live.outcomes_are_read(self._asked_at)
