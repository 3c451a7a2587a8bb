"""The first reading of a partition of the jobs topic, of which the beginning may be compacted.

See `tocsin.model.fold`: below the cut, the offset that the scheduler has committed, every record
that decodes is taken; then the restatements of records below the cut that stand at or after it.
From the cut on the projector judges the records as they come.
"""

import logging
from collections.abc import Callable, Iterable, Mapping

from tocsin.broker.port import Cluster, Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.facts import Decode, JobFact
from tocsin_gateway.projection.job_counts import JobCounts
from tocsin_gateway.projection.job_rows import fold_jobs, forget_partition
from tocsin_gateway.projection.request_rows import requests_of_jobs, store_requests
from tocsin_gateway.projection.writer import decode, store_offsets

log = logging.getLogger(__name__)

_OWN_METADATA = "v1 "
"""How the metadata begins that the scheduler commits with its offsets."""


class ColdReader:
    """Reads partitions of the jobs topic from their beginning up to the scheduler's offset."""

    def __init__(
        self, cluster: Cluster, database: Database, group: str, *, compaction_lag_ms: int
    ) -> None:
        self._cluster = cluster
        self._database = database
        self._group = group
        self._compaction_lag_ms = compaction_lag_ms
        self._counts = JobCounts(database)

    def read(
        self,
        partitions: Iterable[TopicPartition],
        decoders: Mapping[str, Decode],
        now: int,
        timeout: float,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """Fold these partitions anew and store their cuts as next offsets; `between` is called
        after each batch.

        May be interrupted anywhere: without a stored offset a partition is begun again. Blocks
        while the log is being read; raises `BrokerError`s and SQLAlchemy's errors.
        """
        wanted = set(partitions)
        reader = self._cluster.log_reader(self._group)
        try:
            begins = reader.begin_offsets(wanted, timeout)
            cuts = {tp: max(begins[tp], cut) for tp, cut in self._cuts(wanted, timeout).items()}
            self._forget(wanted)
            for batch in read_to_end(reader, begins, timeout=timeout):
                self._fold(batch, cuts, decoders)
                between()
        finally:
            reader.close()
        with self._database.begin() as connection:
            store_offsets(self._database, connection, cuts, now)

    def _cuts(self, partitions: set[TopicPartition], timeout: float) -> dict[TopicPartition, int]:
        reader = self._cluster.log_reader(self._group)
        try:
            committed = reader.committed(partitions, timeout)
        finally:
            reader.close()
        cuts = {}
        for tp, (offset, metadata) in committed.items():
            if offset is not None and not metadata.startswith(_OWN_METADATA):
                log.warning(
                    "the offset committed for %s[%d] is not the scheduler's; left out of account",
                    *tp,
                    extra={"action": "foreign_offset"},
                )
                offset = None
            cuts[tp] = offset or 0
        return cuts

    def _forget(self, partitions: set[TopicPartition]) -> None:
        with self._database.begin() as connection:
            for tp in partitions:
                self._counts.uncount_partition(connection, tp.partition)
                forget_partition(connection, tp.partition)

    def _fold(
        self,
        batch: list[Record],
        cuts: Mapping[TopicPartition, int],
        decoders: Mapping[str, Decode],
    ) -> None:
        facts, _ = decode(batch, decoders)
        below, above = [], []
        for record, fact in facts:
            assert isinstance(fact, JobFact)
            cut = cuts[TopicPartition(record.topic, record.partition)]
            if record.offset < cut:
                below.append(fact)
            elif fact.record.restates is not None and fact.record.restates.through < cut:
                above.append(fact)
        lag = self._compaction_lag_ms
        keys = {fact.key for fact in (*below, *above)}
        with self._database.begin() as connection, self._counts.counted(connection, keys):
            judgements = fold_jobs(
                self._database, connection, below, compaction_lag_ms=lag, trusting=True
            )
            store_requests(self._database, connection, requests_of_jobs(below, judgements))
            fold_jobs(self._database, connection, above, compaction_lag_ms=lag)
