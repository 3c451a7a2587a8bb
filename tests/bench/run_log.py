"""The runs that a scheduler has emitted, as a read_committed consumer sees them."""

from typing import NamedTuple

from tests.bench.waiting import until
from tocsin import clock
from tocsin.broker.port import Cluster, Isolation, TopicPartition
from tocsin.model.jobs import PRIORITIES
from tocsin.wire.topics import Topics

_BATCH = 20_000
_REQUEST_S = 30.0
_HELD_UP_MS = 300


class Seen(NamedTuple):
    """appended: the broker's append time. readable: when it was read here, at the latest. Both
    epoch milliseconds."""

    run_id: str
    priority: str
    partition: int
    appended: int
    readable: int


class RunLog:
    """Reads on from where it has stopped; from the beginning at first. Values stay undecoded."""

    def __init__(self, cluster: Cluster, topics: Topics, partitions: int) -> None:
        self._reader = cluster.log_reader()
        self._hasty = cluster.log_reader(isolation=Isolation.UNCOMMITTED)
        self._topics = {topics.runs(priority): priority for priority in PRIORITIES}
        self._places = [
            TopicPartition(topic, number) for topic in self._topics for number in range(partitions)
        ]
        self._start = dict.fromkeys(self._places, 0)
        self._reader.assign(self._start)

    def skip(self) -> None:
        """Leave out what has been written until now."""
        self._start = self._reader.end_offsets(self._places, _REQUEST_S)
        self._reader.assign(self._start)

    def read(self, timeout_s: float = 0.5) -> list[Seen]:
        """Those that have become readable since the last call; waits for a first one."""
        records = self._reader.poll_batch(_BATCH, timeout_s)
        now = clock.now_ms()
        return [
            Seen(
                (record.key or b"").decode(),
                self._topics[record.topic],
                record.partition,
                record.timestamp,
                now,
            )
            for record in records
        ]

    def read_at_last(self, number: int, patience_s: float = 300.0) -> list[Seen]:
        """The first `number` runs since `skip`, read only when all are in the log: a reader would
        take its share of the machine. `readable` then means nothing. Raises WaitedTooLong."""
        until(
            lambda: self._written() >= number,
            f"{number} runs have been emitted",
            patience_s=patience_s,
            every_s=0.5,
        )
        seen: list[Seen] = []
        until(lambda: self._read_into(seen) >= number, "they are read", every_s=0)
        return seen

    def is_held_up(self) -> bool:
        """Whether a transaction that has written runs by now is still open a moment later."""
        written = self._hasty.end_offsets(self._places, _REQUEST_S)
        deadline = clock.monotonic_ms() + _HELD_UP_MS
        while clock.monotonic_ms() < deadline:
            stable = self._reader.end_offsets(self._places, _REQUEST_S)
            if all(stable[place] >= end for place, end in written.items()):
                return False
        return True

    def close(self) -> None:
        self._reader.close()
        self._hasty.close()

    def _written(self) -> int:
        """A little more than the runs: the control records of transactions count, too."""
        ends = self._reader.end_offsets(self._places, _REQUEST_S)
        return sum(ends.values()) - sum(self._start.values())

    def _read_into(self, seen: list[Seen]) -> int:
        seen += self.read()
        return len(seen)
