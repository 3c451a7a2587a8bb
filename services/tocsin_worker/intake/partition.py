"""One partition of a runs topic, as far as it has been read."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tocsin.model.jobs import Priority
from tocsin.model.runs import Run
from tocsin_worker.intake.offsets import OffsetTracker

WINDOW = 256
"""No record that lies this far past the committed offset is run, so no more than this many
records of a partition can have run without the next owner's knowing."""


class Place(NamedTuple):
    """A partition of the runs topic of one priority; written `high:3`."""

    priority: Priority
    partition: int

    def __str__(self) -> str:
        return f"{self.priority}:{self.partition}"


class Origin:
    """Where runs were read. withdrawn: nothing of it is to be begun any more."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.withdrawn = False

    def withdraw(self) -> None:
        """It is about to go."""
        self.withdrawn = True


@dataclass(frozen=True, slots=True, eq=False)
class Delivery:
    """A run as it was read. `redelivered`: another worker may have begun it before."""

    partition: Origin
    offset: int
    run: Run
    redelivered: bool


class RunsPartition(Origin):
    """Hands out the runs of one partition, no sooner than it is safe to run them.

    Of the first `WINDOW` offsets after an assignment the previous owner may have run any that was
    in the log by then, so these are handed out one by one, in order: each is committed before it
    runs, which it could not be while an older one waited for its slot.
    """

    def __init__(self, place: Place, start: int, end: int | None) -> None:
        """`start`: the first offset read; `end`: the log's end at the assignment, if known."""
        super().__init__(place)
        self.committed = start
        self.highest_taken = start - 1
        self._tracker = OffsetTracker(start)
        self._waiting: deque[Delivery] = deque()
        self._redelivered_below = start + WINDOW if end is None else min(start + WINDOW, end)
        self._offered: dict[int, Delivery] = {}

    @property
    def lowest(self) -> int:
        """The offset to commit."""
        return self._tracker.lowest

    @property
    def stalled(self) -> bool:
        """Whether runs wait only for the committed offset to follow."""
        return bool(self._waiting) and self._waiting[0].offset >= self.committed + WINDOW

    @property
    def held_up(self) -> bool:
        """Whether runs wait for anything but a slot."""
        return bool(self._waiting) and not self.withdrawn and not self._may_run(self._waiting[0])

    @property
    def first_offered(self) -> int | None:
        """The lowest offset that may run and has not been taken."""
        return min(self._offered, default=None)

    def read(self, offset: int, run: Run) -> None:
        """A run was read, behind all others."""
        self._tracker.read(offset)
        redelivered = offset < self._redelivered_below
        self._waiting.append(Delivery(self, offset, run, redelivered))

    def read_unusable(self, offset: int) -> None:
        """A record was read that holds no run: it passes at once."""
        self._tracker.read(offset)
        self._tracker.passed(offset)

    def offer(self) -> Sequence[Delivery]:
        """The runs that may be run from now on and were not offered before."""
        if not self._waiting:
            return ()
        offered = []
        while self._waiting and self._may_run(self._waiting[0]):
            delivery = self._waiting.popleft()
            self._offered[delivery.offset] = delivery
            offered.append(delivery)
        return offered

    def _may_run(self, delivery: Delivery) -> bool:
        if self.withdrawn or delivery.offset >= self.committed + WINDOW:
            return False
        return not (delivery.redelivered and self._offered)

    def taken(self, delivery: Delivery) -> None:
        """An offered run is no longer waiting for its turn."""
        self.highest_taken = max(self.highest_taken, delivery.offset)
        self._offered.pop(delivery.offset, None)

    def passed(self, offset: int) -> None:
        self._tracker.passed(offset)

    @property
    def unstarted_count(self) -> int:
        return len(self._offered) + len(self._waiting)

    def unstarted(self) -> list[Delivery]:
        """The runs that nobody has taken, in order."""
        return [*(self._offered[offset] for offset in sorted(self._offered)), *self._waiting]
