"""One partition in memory: offsets with holes, transactions, compaction, retention."""

from bisect import bisect_left
from collections.abc import Callable
from itertools import islice

from tocsin.broker.port import Headers, Isolation, Record, TopicPartition
from tocsin.testing.clock import SettableClock
from tocsin.testing.transactions import Transaction


class PartitionLog:
    """What a Kafka partition is to its readers.

    Records of a transaction take their offsets at once; its end takes one more for the control
    marker. `COMMITTED` reads stop at the first open transaction and leave aborted records out.
    """

    def __init__(self, place: TopicPartition, clock: SettableClock) -> None:
        self.place = place
        self.begin = 0
        self.high_watermark = 0
        self._clock = clock
        self._offsets: list[int] = []
        self._records: list[Record] = []
        self._owners: list[Transaction | None] = []
        self._open: dict[Transaction, int] = {}

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        headers: Headers | None,
        transaction: Transaction | None = None,
    ) -> Record:
        """Add a record at the clock's time."""
        offset = self.high_watermark
        record = Record(*self.place, offset, self._clock.now_ms(), key, value, headers or [])
        self._offsets.append(offset)
        self._records.append(record)
        self._owners.append(transaction)
        self.high_watermark = offset + 1
        if transaction is not None and transaction not in self._open:
            self._open[transaction] = offset
            transaction.logs.append(self)
        return record

    def end_transaction(self, transaction: Transaction) -> None:
        """Write the control marker; the transaction knows how it ended."""
        del self._open[transaction]
        self.high_watermark += 1

    def end(self, isolation: Isolation) -> int:
        """Last stable offset, or high watermark."""
        if isolation is Isolation.UNCOMMITTED:
            return self.high_watermark
        return next(iter(self._open.values()), self.high_watermark)

    def offset_since(self, instant_ms: int, end: int) -> int:
        """The first record below `end` that was appended then or later; `end` if there is none."""
        young = (r.offset for r in self._records if r.timestamp >= instant_ms and r.offset < end)
        return min(young, default=end)

    def read(self, offset: int, limit: int, isolation: Isolation) -> tuple[list[Record], int]:
        """At most `limit` records from `offset` on, and the offset to read on from: past the
        last record, or the end when there is no more to see."""
        end = self.end(isolation)
        span = range(bisect_left(self._offsets, offset), bisect_left(self._offsets, end))
        visible = (i for i in span if isolation is Isolation.UNCOMMITTED or not self._aborted(i))
        records = [self._records[i] for i in islice(visible, limit)]
        return records, end if len(records) < limit else records[-1].offset + 1

    def compact(self, keep: Callable[[Record], bool], *, drop_tombstones: bool) -> None:
        """Below the last stable offset: the last record of each key stays, `keep` decides about
        every older one, aborted ones go. With `drop_tombstones`, a key whose last record is a
        tombstone goes altogether."""
        stable = bisect_left(self._offsets, self.end(Isolation.COMMITTED))
        settled = [i for i in range(stable) if not self._aborted(i)]
        last = {self._records[i].key: i for i in settled}
        stays = [i for i in settled if last[self._records[i].key] == i or keep(self._records[i])]
        if drop_tombstones:
            gone = {key for key, i in last.items() if self._records[i].value is None}
            stays = [i for i in stays if self._records[i].key not in gone]
        self._retain([*stays, *range(stable, len(self._offsets))])

    def truncate(self, begin: int) -> None:
        """Delete what is below `begin`, as retention does."""
        self.begin = min(max(self.begin, begin), self.high_watermark)
        self._retain(list(range(bisect_left(self._offsets, self.begin), len(self._offsets))))

    def _aborted(self, index: int) -> bool:
        owner = self._owners[index]
        return owner is not None and owner.aborted

    def _retain(self, indices: list[int]) -> None:
        self._offsets = [self._offsets[i] for i in indices]
        self._records = [self._records[i] for i in indices]
        self._owners = [self._owners[i] for i in indices]
