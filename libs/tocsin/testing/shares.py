"""Share groups in memory: who holds which record of a topic."""

from collections import deque
from collections.abc import Callable, Collection

from tocsin.broker.port import Isolation, Record, RecordPlace
from tocsin.testing.faults import Faults
from tocsin.testing.log import PartitionLog

_MANY = 1_000_000


class ShareGroup:
    """The records of one topic that nobody has accepted yet, those handed back first."""

    def __init__(self, logs: Callable[[], list[PartitionLog]]) -> None:
        self._logs = logs
        self._positions: dict[int, int] = {}
        self._free: deque[Record] = deque()

    def acquire(self, most: int) -> list[Record]:
        self._read_on()
        return [self._free.popleft() for _ in range(min(most, len(self._free)))]

    def release(self, records: Collection[Record]) -> None:
        """Somebody else may have them."""
        self._free.extendleft(sorted(records, reverse=True))

    def _read_on(self) -> None:
        for log in self._logs():
            number = log.place.partition
            start = self._positions.get(number, log.begin)
            records, self._positions[number] = log.read(start, _MANY, Isolation.COMMITTED)
            self._free.extend(records)


class MemoryShareConsumer:
    """See `tocsin.broker.port.ShareConsumer`."""

    def __init__(self, group: ShareGroup, max_records: int, faults: Faults) -> None:
        self._group = group
        self._max_records = max_records
        self._faults = faults
        self._held: dict[RecordPlace, Record] = {}

    def poll_batch(self, timeout: float) -> list[Record]:
        if self._held:
            raise RuntimeError("records of the last poll have not been accepted")
        with self._faults.during("poll_batch"):
            records = self._group.acquire(self._max_records)
            self._held = {RecordPlace(r.topic, r.partition, r.offset): r for r in records}
            return records

    def accept(self, places: Collection[RecordPlace]) -> None:
        with self._faults.during("commit_offsets"):
            for place in places:
                self._held.pop(place, None)

    def expire(self) -> None:
        """The time for which it may hold records has passed, or it was killed."""
        held, self._held = list(self._held.values()), {}
        self._group.release(held)

    def close(self) -> None:
        self.expire()
