"""What the last owner of a partition has left in the log, and which of it holds."""

from collections.abc import Iterable
from typing import NamedTuple

from tocsin.broker.port import Committed
from tocsin_scheduler.core.partition import NO_OFFSETS, Offsets
from tocsin_scheduler.core.place import NOWHERE
from tocsin_scheduler.shell.metadata import SIBLING, parse_mark


class Accounted(NamedTuple):
    """The pair (W, O) of one committed transaction. Compared by W, then by O."""

    place: bytes
    offsets: Offsets


class Stretch(NamedTuple):
    """The offsets that a partition of a topic has: begin <= offset < end."""

    begin: int
    end: int


class Estate(NamedTuple):
    """One partition as its last owner has left it, read after that owner was fenced.

    The stretches end at the high watermark, asked for after what was committed had been read: all
    that belongs to that commit lies below. recent: the first outcome of the last ten minutes
    of the last owner.
    """

    jobs: Committed
    signals: Committed
    outcomes: Committed
    jobs_log: Stretch
    signals_log: Stretch
    outcomes_log: Stretch
    state_log: Stretch
    recent: int

    @property
    def committed(self) -> Accounted | None:
        """The pair that the group's offsets hold; None where they hold none, or foreign ones."""
        mark = parse_mark(self.jobs.metadata)
        siblings = (self.signals, self.outcomes)
        if mark is None or self.jobs.offset is None:
            return None
        if any(sibling.metadata != SIBLING for sibling in siblings):
            return None
        signals, outcomes = (sibling.offset or 0 for sibling in siblings)
        return Accounted(mark.place, Offsets(self.jobs.offset, signals, outcomes))

    @property
    def committed_since(self) -> int | None:
        """From when on runs may lie behind the committed pair, epoch milliseconds; None = none."""
        mark = parse_mark(self.jobs.metadata)
        return None if mark is None else mark.since

    @property
    def is_foreign(self) -> bool:
        """Somebody else than a scheduler has set offsets of this partition."""
        there = any(c.offset is not None for c in (self.jobs, self.signals, self.outcomes))
        return there and self.committed is None

    def covers(self, jobs: int, state: int) -> bool:
        """Whether a store that was built up to these offsets belongs to this log."""
        return (
            self.jobs_log.begin <= jobs <= self.jobs_log.end
            and self.state_log.begin <= state <= self.state_log.end
        )

    def clamped(self, offsets: Offsets) -> Offsets:
        """Offsets that can be read from: what retention has deleted is left out, and a log that
        ends before the offset is another one, to be read from its beginning."""
        return Offsets(
            _clamped(offsets.jobs, self.jobs_log),
            _clamped(offsets.signals, self.signals_log),
            _clamped(offsets.outcomes, self.outcomes_log),
        )


NOTHING = Accounted(NOWHERE, NO_OFFSETS)
"""Where no scheduler has ever been."""


def furthest(pairs: Iterable[Accounted | None]) -> Accounted:
    """The pair with the larger W holds, whole, never a mixture."""
    return max((pair for pair in pairs if pair is not None), default=NOTHING)


def _clamped(offset: int, log: Stretch) -> int:
    return log.begin if offset > log.end else max(offset, log.begin)
