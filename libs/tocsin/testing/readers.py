"""Reading in memory: where each partition stands, what it returns next, which ends it met."""

from collections import deque
from collections.abc import Callable, Collection, Mapping

from tocsin.broker.errors import BrokerError, Die, Rebuild
from tocsin.broker.port import Committed, Isolation, Record, TopicPartition
from tocsin.testing.faults import Faults
from tocsin.testing.groups import Group
from tocsin.testing.log import PartitionLog

FindLog = Callable[[TopicPartition], PartitionLog]
"""The log of a partition; raises `Die` where there is none."""


class Cursors:
    """The partitions one consumer reads. They take turns, so that none waits for another."""

    def __init__(self, find_log: FindLog, isolation: Isolation) -> None:
        self._find_log = find_log
        self._isolation = isolation
        self._turns: deque[TopicPartition] = deque()
        self._positions: dict[TopicPartition, int] = {}
        self._stopped: set[TopicPartition] = set()
        self._known_ends: dict[TopicPartition, int] = {}
        self._new_ends: dict[TopicPartition, int] = {}
        self._errors: deque[BrokerError] = deque()

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.unassign(offsets)
        self._positions.update(offsets)
        self._turns.extend(offsets)

    def unassign(self, partitions: Collection[TopicPartition]) -> None:
        gone = set(partitions)
        self._stopped -= gone
        for places in (self._positions, self._known_ends, self._new_ends):
            for tp in gone & places.keys():
                del places[tp]
        self._turns = deque(tp for tp in self._turns if tp not in gone)
        self._errors = deque(e for e in self._errors if (e.topic, e.partition) not in gone)

    def clear(self) -> None:
        """Read nothing any more."""
        self.unassign(list(self._positions))

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self._stopped.update(tp for tp in partitions if tp in self._positions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self._stopped.difference_update(partitions)

    def read(self, max_records: int) -> list[Record]:
        """What is there now; raises what an earlier read left behind."""
        if self._errors:
            raise self._errors.popleft()
        records: list[Record] = []
        for tp in list(self._turns):
            if len(records) == max_records:
                break
            self._turns.rotate(-1)
            if tp not in self._stopped:
                records += self._read_one(tp, max_records - len(records))
        if self._errors and not records:
            raise self._errors.popleft()
        return records

    def take_ends(self) -> dict[TopicPartition, int]:
        ends, self._new_ends = self._new_ends, {}
        return ends

    def position(self, partition: TopicPartition) -> int:
        return self._positions[partition]

    def begin_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self._find_log(tp).begin for tp in partitions}

    def end_offsets(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        return {tp: self._find_log(tp).end(self._isolation) for tp in partitions}

    def offsets_since(self, instants: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        ends = self.end_offsets(instants)
        return {
            tp: self._find_log(tp).offset_since(instant, ends[tp])
            for tp, instant in instants.items()
        }

    def _read_one(self, tp: TopicPartition, limit: int) -> list[Record]:
        position = self._positions[tp]
        try:
            log = self._log_with(tp, position)
        except (Die, Rebuild) as error:
            self._errors.append(error)
            self._stopped.add(tp)
            return []
        records, position = log.read(position, limit, self._isolation)
        self._positions[tp] = position
        if position == log.end(self._isolation) != self._known_ends.get(tp):
            self._known_ends[tp] = self._new_ends[tp] = position
        return records

    def _log_with(self, tp: TopicPartition, offset: int) -> PartitionLog:
        log = self._find_log(tp)
        if log.begin <= offset <= log.high_watermark:
            return log
        reason = f"the log holds {log.begin} to {log.high_watermark} only"
        raise Rebuild(reason, code="OFFSET_OUT_OF_RANGE").at(*tp, offset)


class MemoryLogReader:
    """See `tocsin.broker.port.LogReader`. Never waits: without anything to read it is back."""

    def __init__(
        self, cursors: Cursors, group: Group, isolation: Isolation, faults: Faults
    ) -> None:
        self._cursors = cursors
        self._group = group
        self._isolation = isolation
        self._faults = faults

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._cursors.assign(offsets)

    def unassign(self, partitions: Collection[TopicPartition]) -> None:
        self._cursors.unassign(partitions)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        self._cursors.pause(partitions)

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        self._cursors.resume(partitions)

    def take_ends(self) -> dict[TopicPartition, int]:
        return self._cursors.take_ends()

    def position(self, partition: TopicPartition) -> int:
        return self._cursors.position(partition)

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        with self._faults.during("poll_batch"):
            return self._cursors.read(max_records)

    def begin_offsets(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        with self._faults.during("begin_offsets"):
            return self._cursors.begin_offsets(partitions)

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        with self._faults.during("end_offsets"):
            return self._cursors.end_offsets(partitions)

    def offsets_since(
        self, instants: Mapping[TopicPartition, int], timeout: float
    ) -> dict[TopicPartition, int]:
        with self._faults.during("end_offsets"):
            return self._cursors.offsets_since(instants)

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        with self._faults.during("committed"):
            if self._isolation is Isolation.COMMITTED:
                self._group.stable(partitions)
            return self._group.fetch(partitions)

    def close(self) -> None:
        self._cursors.clear()
