"""Reading partitions to their ends."""

from collections.abc import Collection, Iterator, Mapping

from tocsin import clock
from tocsin.broker.errors import BrokerUnreachable
from tocsin.broker.port import LogReader, Record, TopicPartition


def read_to_end(
    reader: LogReader,
    offsets: Mapping[TopicPartition, int],
    *,
    through: Mapping[TopicPartition, int] | None = None,
    max_records: int = 10_000,
    timeout: float = 30.0,
) -> Iterator[list[Record]]:
    """Batches of these partitions from these offsets until each has met an end of its log.

    The end is the reader's own event, not a comparison with a high watermark: the tail of a log
    may hold nothing but control, aborted and compacted records.

    The end of a `COMMITTED` reader is the last stable offset: it stands before an open transaction
    (fence it first), and for a moment before one just committed. An end below the offset that
    `through` names for its partition does not count: with the high watermark asked for (by an
    `UNCOMMITTED` reader) after the last commit, nothing of that is missed.

    The partitions are unassigned when the iteration ends, however it ends. Other partitions
    assigned to the reader are read along. Raises what `poll_batch` raises, and
    `BrokerUnreachable` when nothing was read and no end was met for `timeout` seconds.
    """
    missing = dict(offsets) | dict(through or {})
    reader.assign(offsets)
    try:
        patience = _Patience(timeout)
        while missing:
            batch = reader.poll_batch(max_records, timeout=min(timeout, 1.0))
            ends = reader.take_ends()
            for tp in [tp for tp, end in ends.items() if end >= missing.get(tp, end + 1)]:
                del missing[tp]
            patience.check(progress=bool(batch or ends), waiting_for=missing)
            if batch:
                yield batch
    finally:
        reader.unassign(offsets)


class _Patience:
    """Raises when nothing has moved for too long."""

    def __init__(self, timeout: float) -> None:
        self._limit_ms = int(timeout * 1000)
        self._since = clock.monotonic_ms()

    def check(self, *, progress: bool, waiting_for: Collection[TopicPartition]) -> None:
        if progress:
            self._since = clock.monotonic_ms()
        elif waiting_for and clock.monotonic_ms() - self._since >= self._limit_ms:
            tp = min(waiting_for)
            raise BrokerUnreachable(f"no end of the log met in {self._limit_ms} ms").at(*tp)
