"""One transaction's work on one partition: what the parts of the core share while it lasts."""

from collections import Counter
from dataclasses import dataclass, field

from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.workforce import WorkerNews


@dataclass(slots=True)
class Budget:
    """What one transaction may still take, shared by all partitions in it.

    runs: run records. size: bytes of runs and of their states, of events and of the dead. steps:
    occurrences looked at. catch_up: runs of backlogs and backfills, refilled at their rate.
    """

    runs: int = 5_000
    size: int = 8 * 1024 * 1024
    steps: int = 100_000
    catch_up: int = 500

    @property
    def spent(self) -> bool:
        return self.runs <= 0 or self.size <= 0 or self.steps <= 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A record that could not be used, and why."""

    topic: str
    offset: int
    reason: str


@dataclass(slots=True)
class Turn:
    """`now`: the instant at which this transaction acts. `outcomes_read`: outcomes have been read
    to an end that was asked for at this instant. Both epoch milliseconds.

    needs_outcomes: something waits for a later `outcomes_read`. lateness: of each run emitted on
    schedule, milliseconds. results: occurrences by what became of them. dead: runs given up.
    workers: what the outcomes tell of them.
    """

    now: int
    outcomes_read: int
    place: bytes
    budget: Budget
    out: list[Outgoing] = field(default_factory=list)
    needs_outcomes: bool = False
    problems: list[Problem] = field(default_factory=list)
    lateness: list[int] = field(default_factory=list)
    results: Counter[str] = field(default_factory=Counter)
    dead: int = 0
    workers: WorkerNews = field(default_factory=WorkerNews)
