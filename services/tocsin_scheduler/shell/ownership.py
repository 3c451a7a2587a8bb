"""The partitions of this process, from their assignment to their end.

    ASSIGNED ─► FENCING ─► RESTORING ─► CLAIMING ─► OWNED
       ▲           │           │           │          │      start over: an outcome is unknown,
       └───────────┴───────────┴───────────┴──────────┘      the store or the log was replaced

    each of them ─► GONE                                     released or lost

*fencing*: whoever had it before is fenced, and what was committed is read, in the background.
*restoring*: its store is brought up to that, a slice at a time. *claiming*: it waits for a first
transaction that names this process. *owned*: it is in every transaction. *gone*: released, its
last pair committed with no owner, or lost without a word. Only what is owned is in a commit.
"""

import logging
from collections.abc import Iterator
from concurrent.futures import Future
from enum import StrEnum

from tocsin_scheduler.shell.estate import Estate
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.restore import Restore

LOG = logging.getLogger(__name__)


class Phase(StrEnum):
    ASSIGNED = "assigned"
    FENCING = "fencing"
    RESTORING = "restoring"
    CLAIMING = "claiming"
    OWNED = "owned"
    GONE = "gone"


_NEXT: dict[Phase, frozenset[Phase]] = {
    Phase.ASSIGNED: frozenset({Phase.FENCING, Phase.GONE}),
    Phase.FENCING: frozenset({Phase.RESTORING, Phase.ASSIGNED, Phase.GONE}),
    Phase.RESTORING: frozenset({Phase.CLAIMING, Phase.ASSIGNED, Phase.GONE}),
    Phase.CLAIMING: frozenset({Phase.OWNED, Phase.ASSIGNED, Phase.GONE}),
    Phase.OWNED: frozenset({Phase.ASSIGNED, Phase.GONE}),
    Phase.GONE: frozenset(),
}

Estates = Future[dict[int, Estate]]


class Tenure:
    """One partition in this process. Wrong transitions are mistakes of the caller's."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.phase = Phase.ASSIGNED
        self.estates: Estates | None = None
        self.restore: Restore | None = None
        self.live: Live | None = None

    def fence(self, estates: Estates) -> None:
        """The takeover is under way; `estates` will tell what it found."""
        self._enter(Phase.FENCING)
        self.estates = estates

    def restore_by(self, restore: Restore) -> None:
        self._enter(Phase.RESTORING)
        self.estates, self.restore = None, restore

    def claim(self, live: Live) -> None:
        """The store is whole; `live` goes to work when the claim has committed."""
        self._enter(Phase.CLAIMING)
        self.restore, self.live = None, live

    def own(self) -> None:
        self._enter(Phase.OWNED)

    def start_over(self) -> None:
        """Whatever was done so far is done again, from the store's checkpoint."""
        self._enter(Phase.ASSIGNED)
        self._let_go()

    def end(self) -> None:
        self._enter(Phase.GONE)
        self._let_go()

    def _let_go(self) -> None:
        if self.restore is not None:
            self.restore.give_up()
            self.restore.store.close()
        if self.live is not None:
            self.live.close()
        self.estates = self.restore = self.live = None

    def _enter(self, phase: Phase) -> None:
        assert phase in _NEXT[self.phase], f"partition {self.number}: {self.phase} -> {phase}"
        LOG.info(
            "partition %d: %s",
            self.number,
            phase,
            extra={"action": "partition_phase", "partition": self.number, "phase": phase.value},
        )
        self.phase = phase


class Tenures:
    """All partitions that are assigned to this process. `owned` is kept up to date."""

    def __init__(self) -> None:
        self._by_number: dict[int, Tenure] = {}
        self.owned: dict[int, Live] = {}

    def __iter__(self) -> Iterator[Tenure]:
        return iter(list(self._by_number.values()))

    def __len__(self) -> int:
        return len(self._by_number)

    def get(self, number: int) -> Tenure | None:
        return self._by_number.get(number)

    def begin(self, number: int) -> None:
        """It is assigned; what is there already stays as it is."""
        self._by_number.setdefault(number, Tenure(number))

    def within(self, phase: Phase) -> list[Tenure]:
        return [tenure for tenure in self._by_number.values() if tenure.phase is phase]

    def own(self, tenure: Tenure) -> Live:
        """Its claim has committed."""
        tenure.own()
        assert tenure.live is not None
        self.owned[tenure.number] = tenure.live
        return tenure.live

    def start_over(self, tenure: Tenure) -> None:
        self.owned.pop(tenure.number, None)
        tenure.start_over()

    def end(self, number: int) -> None:
        """It is not this process's any more."""
        tenure = self._by_number.pop(number, None)
        self.owned.pop(number, None)
        if tenure is not None:
            tenure.end()
