"""Whether what the stores of schedulers know is what the log says."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from tests.faults.installation import PARTITIONS, REQUEST_S, Installation
from tests.faults.stores import last_owner
from tests.oracle.knowledge import PartitionLog, Standing, gaps
from tocsin import clock
from tocsin.broker.port import LogReader, Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.shell.metadata import parse_mark
from tocsin_scheduler.store.rocks import RocksStores


def judge_stores(installation: Installation, disks: Iterable[Path]) -> None:
    """The store of the last owner of each partition, all of which have stopped, knows what a new
    owner would learn from the log alone."""
    topics, found = installation.topics, list(disks)
    with closing(installation.cluster.log_reader(topics.scheduler_group)) as reader:
        for number in range(PARTITIONS):
            standing = _standing(reader, TopicPartition(topics.jobs, number))
            path = last_owner(found, number, standing)
            log = PartitionLog(
                _records(reader, TopicPartition(topics.state, number)),
                _records(reader, TopicPartition(topics.jobs, number)),
            )
            config = CoreConfig(topics=topics, partition=number, partitions=PARTITIONS)
            with closing(RocksStores(path.parent).open(path.name)) as store:
                wrong = list(gaps(store, log, standing, config, clock.now_ms()))
            assert not wrong, f"{path}: {len(wrong)} gaps, the first: {wrong[0]}"


def _standing(reader: LogReader, place: TopicPartition) -> Standing:
    committed = reader.committed([place], REQUEST_S)[place]
    mark = parse_mark(committed.metadata)
    assert mark is not None, "the last owner has committed no watermark"
    return Standing(mark.place, committed.offset or 0)


def _records(reader: LogReader, place: TopicPartition) -> list[Record]:
    return [record for batch in read_to_end(reader, {place: 0}) for record in batch]
