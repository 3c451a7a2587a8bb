"""What workers said of runs, in the order of the log: the newest in memory, the rest in Kafka.

The read model keeps how a run stands, not each word about it. Who listens from now on is served
from memory; who comes back after a while reads what lies between from the log.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from threading import BoundedSemaphore, Lock
from typing import NamedTuple, TypeAlias, get_args

import msgspec

from tocsin.broker.port import Cluster, Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.model.runs import Outcome, SaidType
from tocsin_gateway.projection.facts import Decode, ForeignRecord

TOLD: tuple[SaidType, ...] = get_args(SaidType)

MOST_OF_PARTITION = 1_000
"""So many stay in memory."""

READERS = 4
"""So many read from the log at once."""

_MOST_READ = 20_000
_TIMEOUT_S = 10.0


class Said(NamedTuple):
    """An outcome at its place in its partition, without the run and the result."""

    offset: int
    outcome: Outcome


News: TypeAlias = dict[int, list[Said]]
"""Partition -> outcomes in the order of the log."""


class OutcomeTail:
    """The newest outcomes. Written by the projector's thread, read by any."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self._lock = Lock()
        self._said: dict[int, deque[Said]] = {}
        self._begins: dict[int, int] = {}
        self._ends: dict[int, int] = {}

    def begin_anew(self, positions: Mapping[TopicPartition, int]) -> None:
        """The log is read from these offsets on."""
        with self._lock:
            for tp, offset in positions.items():
                if tp.topic == self.topic and self._ends.get(tp.partition) != offset:
                    self._said[tp.partition] = deque()
                    self._begins[tp.partition] = self._ends[tp.partition] = offset

    def note(self, reached: Mapping[TopicPartition, int], said: Iterable[tuple[int, Said]]) -> None:
        """These are all that was said between the end so far and `reached`, with the partitions."""
        with self._lock:
            for partition, each in said:
                if each.offset >= self._ends[partition]:
                    self._keep(partition, each)
            for tp, end in reached.items():
                if tp.topic == self.topic:
                    self._ends[tp.partition] = max(end, self._ends[tp.partition])

    def ends(self) -> tuple[int, ...]:
        """The next offset in each partition; empty while they are not known."""
        with self._lock:
            return tuple(self._ends[partition] for partition in sorted(self._ends))

    def begins(self, partitions: Iterable[int]) -> dict[int, int]:
        """From where on all of them are here."""
        with self._lock:
            return {partition: self._begins[partition] for partition in partitions}

    def since(self, partition: int, start: int, most: int) -> tuple[list[Said], int] | None:
        """The first ones from `start` on, and up to where there are no others; None = some of them
        are not in memory any more."""
        with self._lock:
            if start < self._begins[partition]:
                return None
            found = [said for said in self._said[partition] if said.offset >= start]
            end = self._ends[partition]
        if len(found) > most:
            return found[:most], found[most].offset
        return found, max(start, end)

    def _keep(self, partition: int, each: Said) -> None:
        said = self._said[partition]
        while len(said) >= MOST_OF_PARTITION:
            self._begins[partition] = said.popleft().offset + 1
        said.append(each)


class OutcomeLog:
    """Reads outcomes that are not in memory any more."""

    def __init__(self, cluster: Cluster, topic: str, decode: Decode) -> None:
        self._cluster = cluster
        self._topic = topic
        self._decode = decode
        self._turns = BoundedSemaphore(READERS)

    def read(
        self,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
        is_wanted: Callable[[bytes], bool],
    ) -> tuple[News, dict[int, int]]:
        """Those of wanted keys, and how far each partition was read: to its end, unless that is
        very far. What has expired is left out. Blocks; raises `BrokerError`s."""
        with self._turns:
            reader = self._cluster.log_reader()
            try:
                places = [TopicPartition(self._topic, partition) for partition in starts]
                begins = reader.begin_offsets(places, _TIMEOUT_S)
                offsets = {tp: max(starts[tp.partition], begin) for tp, begin in begins.items()}
                found: News = {partition: [] for partition in starts}
                reached = {tp.partition: offset for tp, offset in offsets.items()}
                left = _MOST_READ
                for batch in read_to_end(reader, offsets, timeout=_TIMEOUT_S):
                    for record in batch:
                        reached[record.partition] = record.offset + 1
                        self._take(record, ends, is_wanted, found)
                    left -= len(batch)
                    if left <= 0:
                        return found, {p: min(at, ends[p]) for p, at in reached.items()}
                return found, dict(ends)
            finally:
                reader.close()

    def _take(
        self,
        record: Record,
        ends: Mapping[int, int],
        is_wanted: Callable[[bytes], bool],
        found: News,
    ) -> None:
        if record.offset >= ends[record.partition] or not is_wanted(record.key or b""):
            return
        try:
            outcome = self._decode(record)
        except ForeignRecord:
            return
        if isinstance(outcome, Outcome) and outcome.kind in TOLD:
            found[record.partition].append(_said(record, outcome))


def said_of(outcomes: Iterable[tuple[Record, Outcome]]) -> list[tuple[int, Said]]:
    """What is told of outcomes, with the partitions."""
    return [
        (record.partition, _said(record, outcome))
        for record, outcome in outcomes
        if outcome.kind in TOLD
    ]


def _said(record: Record, outcome: Outcome) -> Said:
    if outcome.run is not None or outcome.result is not None:
        outcome = msgspec.structs.replace(outcome, run=None, result=None)
    return Said(record.offset, outcome)
