"""Topics read whole, as far as they are whole."""

from collections.abc import Collection, Iterator, Mapping

from tocsin import clock
from tocsin.broker.port import Cluster, Isolation, LogReader, Record, TopicPartition
from tocsin.broker.reading import read_to_end

TIMEOUT = 60.0
"""Seconds without any progress after which the cluster counts as unreachable; longer than an open
transaction may last."""

REACH_S = 15.0
"""Seconds until the first answer: a broker that is there gives it sooner."""

RETENTION_MS = 691_200_000
"""How long topics keep their records at the least, unless the caller knows better: 8 d."""


class WholeTopics:
    """Reads topics through all that was committed before, and notes what retention has removed.

    removed: partitions that have lost records, and the instant, epoch milliseconds, from which on
    they are complete; filled in while they are read.
    """

    def __init__(self, cluster: Cluster, retention_ms: Mapping[str, int]) -> None:
        self.removed: dict[TopicPartition, int] = {}
        self._cluster = cluster
        self._retention_ms = retention_ms
        self._reader = cluster.log_reader(isolation=Isolation.COMMITTED)

    def close(self) -> None:
        self._reader.close()

    @property
    def reader(self) -> LogReader:
        """For reading beside; nothing is assigned to it between two iterations."""
        return self._reader

    def records(self, partitions: Mapping[str, int]) -> Iterator[Record]:
        """All records of the topics, given with their numbers of partitions. Through the high
        watermarks of now: a transaction that was committed before is read, even if its markers
        are still on their way. Blocks; raises `BrokerError`s."""
        tps = [TopicPartition(name, p) for name, count in partitions.items() for p in range(count)]
        ends = self._high_watermarks(tps)
        begins = self._reader.begin_offsets(tps, TIMEOUT)
        cut = self._note_removed(tp for tp, begin in begins.items() if begin > 0)
        for batch in read_to_end(self._reader, begins, through=ends, timeout=TIMEOUT):
            for record in batch:
                tp = TopicPartition(record.topic, record.partition)
                if tp in cut:
                    cut.discard(tp)
                    self.removed[tp] = record.timestamp
                yield record

    def _note_removed(self, tps: Iterator[TopicPartition]) -> set[TopicPartition]:
        """Where no record is left, retention has removed what is older than it says."""
        cut = set(tps)
        for tp in cut:
            lasts_ms = self._retention_ms.get(tp.topic, RETENTION_MS)
            self.removed[tp] = clock.now_ms() - lasts_ms
        return cut

    def _high_watermarks(self, tps: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        reader = self._cluster.log_reader(isolation=Isolation.UNCOMMITTED)
        try:
            return reader.end_offsets(tps, TIMEOUT)
        finally:
            reader.close()
