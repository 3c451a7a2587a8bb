"""Which partition of a runs topic a run goes to: to workers that can take it.

Each partition that a transaction writes to costs it about a millisecond, so runs go to one
partition for a while, then to the next: a small transaction touches one, a large one all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

CHUNK = 64
"""So many runs in a row go to one partition at most."""


class Share(NamedTuple):
    """A worker that reads these partitions of a topic and could take `room` runs, at least 1."""

    worker: str
    partitions: Sequence[int]
    room: int

    @property
    def chunk(self) -> int:
        return min(CHUNK, self.room)


@dataclass(slots=True)
class _Standing:
    """What a worker has had. served: in proportion to its room. runs: their number; after
    `CHUNK` of them its next partition takes over."""

    served: float
    runs: int = 0


class Chooser:
    """The partitions of one topic, worker by worker.

    Chunks go to the worker that has had least in proportion to its room, up to as many runs as it
    has room for. Where nobody is known to have any, all partitions take turns.
    """

    def __init__(self, partitions: int) -> None:
        self._all = Share("", range(partitions), CHUNK)
        self._shares: dict[str, Share] = {}
        self._standings: dict[str, _Standing] = {}
        self._worker = ""
        self._partition = 0
        self._left = 0
        self.share(())

    def share(self, shares: Sequence[Share]) -> None:
        """From now on the runs are for these workers; none = for all partitions. What each has
        had counts on, and who comes anew has had as much as the one with least."""
        self._shares = {one.worker: one for one in shares or (self._all,)}
        known = {w: s for w, s in self._standings.items() if w in self._shares}
        least = min((standing.served for standing in known.values()), default=0.0)
        self._standings = {w: known.get(w) or _Standing(least) for w in self._shares}
        self._left = min(self._left, self._room_left())

    def take(self) -> int:
        """The partition of the next run."""
        if self._left <= 0:
            self._begin_chunk()
        self._left -= 1
        return self._partition

    def _room_left(self) -> int:
        """Of the worker whose chunk is under way, if its partition is still its own."""
        share = self._shares.get(self._worker)
        return share.chunk if share is not None and self._partition in share.partitions else 0

    def _begin_chunk(self) -> None:
        self._worker = min(self._shares, key=lambda worker: self._standings[worker].served)
        share, standing = self._shares[self._worker], self._standings[self._worker]
        self._partition = share.partitions[standing.runs // CHUNK % len(share.partitions)]
        self._left = share.chunk
        standing.runs += share.chunk
        standing.served += share.chunk / share.room
