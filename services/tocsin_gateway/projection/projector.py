"""Keeps the read model up with the log: read a batch, write it, tell who waits.

    open ──► step ──► step ──► …          by hand in tests, by `run` on a thread of its own
      ▲        │
      └────────┘  any failure: back to the offsets that the read model has stored

No consumer group is needed: the offsets are the read model's own.
"""

import logging
from collections.abc import Mapping
from threading import Event
from typing import Protocol

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from tocsin.broker.errors import BrokerError, Die, Rebuild
from tocsin.broker.port import GATHERED_BYTES, Cluster, LogReader, Record, TopicInfo, TopicPartition
from tocsin.memory import give_back
from tocsin.model.jobs import PRIORITIES
from tocsin.wire.topics import Topics
from tocsin_gateway.projection.audience import Advance, Audience
from tocsin_gateway.projection.cold import ColdReader
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.facts import Decode, decoders
from tocsin_gateway.projection.identity import ensure_identity, wipe
from tocsin_gateway.projection.job_reads import known_pools
from tocsin_gateway.projection.outcome_tail import said_of
from tocsin_gateway.projection.progress import Demand
from tocsin_gateway.projection.retention import Retention, Sweeper
from tocsin_gateway.projection.sweep_pace import SweepPace
from tocsin_gateway.projection.tables import offsets
from tocsin_gateway.projection.writer import (
    OffsetsMoved,
    Writer,
    store_offsets,
    stored_offsets,
    touch_offsets,
)

log = logging.getLogger(__name__)

COMPACTION_LAG_MS = 86_400_000
"""`min.compaction.lag.ms` of the jobs topic."""

_BATCH = 2_000
_GATHER_S = 0.2
_BREATH_S = 0.005
_CROWD_BREATH_S = 0.01
_TIMEOUT_S = 10.0
_PAUSE_S = 1.0
_TOUCH_MS = 60_000
_FOLLOW_MS = 5_000
_POOLS_MS = 30_000
_ALIVE_MS = 5_000
_STANDSTILL_MARGIN_MS = 3_600_000


class Clock(Protocol):
    """What `tocsin.clock` tells."""

    def now_ms(self) -> int: ...

    def monotonic_ms(self) -> int: ...


class StoodStill(Exception):
    """Nothing was read for so long that edits may have been compacted away unseen."""


class Projector:
    """One thread's work: `open`, then `step` again and again; `run` does both."""

    def __init__(
        self,
        cluster: Cluster,
        database: Database,
        topics: Topics,
        audience: Audience,
        *,
        clock: Clock,
        compaction_lag_ms: int = COMPACTION_LAG_MS,
        retention: Retention,
    ) -> None:
        self._cluster = cluster
        self._database = database
        self._topics = topics
        self._audience = audience
        self._clock = clock
        self._standstill_ms = compaction_lag_ms - _STANDSTILL_MARGIN_MS
        self._writer = Writer(
            database, compaction_lag_ms=compaction_lag_ms, runs_a_job=retention.runs_a_job
        )
        self._cold = ColdReader(
            cluster, database, topics.scheduler_group, compaction_lag_ms=compaction_lag_ms
        )
        self._sweeper = Sweeper(database, retention)
        self._reader: LogReader | None = None
        self._decoders: Mapping[str, Decode] = {}
        self._pools: frozenset[str] = frozenset()
        self._job_partitions = 0
        self._positions: dict[TopicPartition, int] = {}
        self._behind: set[TopicPartition] = set()
        self._misplaced: Rebuild | None = None
        self._reason: str | None = None
        self._last = _Times(clock)
        self._pace = SweepPace(clock.monotonic_ms())

    def run(self, stop: Event) -> None:
        """Until `stop` is set. Raises `Die`: what does not pass by itself."""
        try:
            while not stop.is_set():
                self._run_once(stop)
        finally:
            self.close()

    def _run_once(self, stop: Event) -> None:
        try:
            if not self.is_open:
                self.open()
            self._gather(self.step(0.1), stop)
        except Die:
            raise
        except (BrokerError, SQLAlchemyError, OffsetsMoved, StoodStill) as error:
            self.failed(error)
            stop.wait(_PAUSE_S)

    def _gather(self, size: int, stop: Event) -> None:
        """Let records pile up after a small batch: a transaction costs as much as dozens of them.
        Only for a moment while a request waits for what it has written, a little longer where
        several do."""
        if 0 < size < _BATCH and (demand := self._audience.await_demand(_GATHER_S)):
            stop.wait(_CROWD_BREATH_S if demand is Demand.CROWD else _BREATH_S)

    def open(self) -> None:
        """Take up reading at the stored offsets; partitions of jobs without one are read cold.

        May block for long. Raises `Die` where a topic is missing, other `BrokerError`s, and
        SQLAlchemy's errors.
        """
        if self._misplaced is not None:
            self._mend(self._misplaced)
            self._misplaced = None
        found = self._find_topics()
        ensure_identity(self._database, self._cluster.cluster_id(_TIMEOUT_S), found)
        self._audience.begin_anew(self._database.generation)
        self._writer.begin_anew()
        self._sweeper.begin_anew()
        self._pools = known_pools(self._database)
        found |= self._cluster.topics(self._run_topics(), _TIMEOUT_S)
        self._job_partitions = found[self._topics.jobs].partitions
        self._decoders = decoders(self._topics, self._pools, self._job_partitions)
        partitions = _partitions_of(found)
        self._read_cold({tp for tp in partitions if tp.topic == self._topics.jobs})
        self._reader = self._cluster.log_reader(min_bytes=GATHERED_BYTES)
        self._positions = self._start(self._reader, partitions)
        self._behind = set(partitions)
        self._reader.assign(self._positions)
        self._audience.start(self._positions)
        self._audience.tell(Advance(reached=dict(self._positions)))
        self._last = _Times(self._clock)
        self._pace = SweepPace(self._clock.monotonic_ms())

    def step(self, timeout: float) -> int:
        """Read and write one batch, waiting for it at most `timeout` seconds; its size.

        Raises `BrokerError`s, `OffsetsMoved`, `StoodStill` and SQLAlchemy's errors, after which
        only `close` and `open` go on.
        """
        if self._reader is None:
            raise RuntimeError("open the projector first")
        if self._last.since_step(self._clock) > self._standstill_ms:
            raise StoodStill(f"nothing was read for {self._standstill_ms} ms")
        records = self._reader.poll_batch(_BATCH, timeout)
        ends = self._reader.take_ends()
        if records or self._behind & ends.keys():
            self._write(records, ends)
        self._last.step(self._clock)
        self._trouble(None)
        self._sweep(records_wait=len(records) == _BATCH)
        self._keep_house(idle=not records)
        return len(records)

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    def failed(self, error: Exception) -> None:
        """`open` or `step` raised this, which passes: stop, so that `open` may follow."""
        self._trouble(str(error))
        self._misplaced = error if isinstance(error, Rebuild) else self._misplaced
        log.warning(
            "reading again from what is stored: %s", error, extra={"action": "projector_again"}
        )
        self.close()

    def backlog(self) -> int:
        """About how many records are left to read now. May block for seconds."""
        if self._reader is None:
            raise RuntimeError("open the projector first")
        ends = self._reader.end_offsets(self._positions, _TIMEOUT_S)
        return sum(max(0, end - self._positions[tp]) for tp, end in ends.items())

    def close(self) -> None:
        """Stop reading; `open` may follow."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _write(self, records: list[Record], ends: Mapping[TopicPartition, int]) -> None:
        last = {(r.topic, r.partition): r.offset for r in records}
        reached = {TopicPartition(*place): offset + 1 for place, offset in last.items()}
        for tp, end in ends.items():
            reached[tp] = max(end, reached.get(tp, 0))
        start = {tp: self._positions[tp] for tp in reached}
        now = self._clock.now_ms()
        written = self._writer.write(records, start, reached, self._decoders, now)
        self._positions.update(written.reached)
        was_behind = bool(self._behind)
        self._behind -= ends.keys()
        lag = now - records[-1].timestamp if records and self._behind else 0
        self._audience.tell(
            Advance(
                reached=written.reached,
                runs=tuple(written.runs),
                said=tuple(said_of(written.outcomes)),
                records=len(records),
                foreign=tuple(place.topic for place in written.foreign),
                lag_ms=max(lag, 0),
                jobs_complete=not any(tp.topic == self._topics.jobs for tp in self._behind),
                history_complete=not self._behind,
            )
        )
        if was_behind and not self._behind:
            give_back()
        if not written.pools <= self._pools:
            self._add_pools(written.pools)

    def _trouble(self, reason: str | None) -> None:
        if reason != self._reason:
            self._reason = reason
            self._audience.trouble(reason)

    def _sweep(self, *, records_wait: bool) -> None:
        began = self._clock.monotonic_ms()
        if self._pace.is_due(began, records_wait=records_wait):
            has_more = self._sweeper.sweep(self._clock.now_ms())
            self._pace.swept(began, self._clock.monotonic_ms(), has_more=has_more)

    def _keep_house(self, *, idle: bool) -> None:
        now = self._clock.now_ms()
        if self._last.is_due("alive", _ALIVE_MS, self._clock):
            self._audience.alive()
        if self._last.is_due("follow", _FOLLOW_MS, self._clock) and self._database.follow(now):
            raise OffsetsMoved("another read model has taken the place of this one")
        if self._last.is_due("touch", _TOUCH_MS, self._clock):
            self._database.touch(now)
            if idle and not self._behind:
                with self._database.begin() as connection:
                    touch_offsets(connection, self._positions, now)
        if self._last.is_due("pools", _POOLS_MS, self._clock):
            self._add_pools(frozenset())

    def _find_topics(self) -> dict[str, TopicInfo]:
        topics = self._topics
        names = [topics.jobs, topics.signals, topics.outcomes, topics.events, topics.dead]
        names.append(topics.audit)
        names += [self._topics.runs(priority) for priority in PRIORITIES]
        found = self._cluster.topics(names, _TIMEOUT_S)
        missing = [name for name in names if name not in found]
        if missing:
            raise Die(f"these topics are missing: {', '.join(missing)}; `tocsin topics apply`")
        return found

    def _run_topics(self) -> list[str]:
        return [
            self._topics.runs(priority, pool) for pool in self._pools for priority in PRIORITIES
        ]

    def _read_cold(self, partitions: set[TopicPartition]) -> None:
        oldest = self._clock.now_ms() - self._standstill_ms
        with self._database.read() as connection:
            query = select(offsets.c.partition).where(
                offsets.c.topic == self._topics.jobs, offsets.c.read_time > oldest
            )
            fresh = set(connection.execute(query).scalars())
        cold = {tp for tp in partitions if tp.partition not in fresh}
        if cold:
            self._cold.read(
                cold,
                self._decoders,
                self._clock.now_ms(),
                _TIMEOUT_S,
                between=self._audience.alive,
            )

    def _start(
        self, reader: LogReader, partitions: set[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Where to read on; the beginning of a partition that is new is stored first."""
        with self._database.read() as connection:
            stored = stored_offsets(connection, partitions)
        missing = partitions - stored.keys()
        if not missing:
            return stored
        new = reader.begin_offsets(missing, _TIMEOUT_S)
        with self._database.begin() as connection:
            store_offsets(self._database, connection, new, self._clock.now_ms())
        return stored | new

    def _add_pools(self, pools: frozenset[str]) -> None:
        """Read the run topics of these pools too, and those of known pools that are new."""
        self._pools |= pools
        self._decoders = decoders(self._topics, self._pools, self._job_partitions)
        partitions = _partitions_of(self._cluster.topics(self._run_topics(), _TIMEOUT_S))
        new = partitions - self._positions.keys()
        if new and self._reader is not None:
            start = self._start(self._reader, new)
            self._positions |= start
            self._reader.assign(start)

    def _mend(self, error: Rebuild) -> None:
        """Put the stored offset of a partition right that the log does not have any more."""
        if error.topic is None or error.partition is None:
            wipe(self._database)
            return
        tp = TopicPartition(error.topic, error.partition)
        reader = self._cluster.log_reader()
        try:
            begin = reader.begin_offsets([tp], _TIMEOUT_S)[tp]
        finally:
            reader.close()
        if self._positions.get(tp, 0) > begin or tp.topic == self._topics.jobs:
            log.warning("the log was truncated; building the read model anew")
            wipe(self._database)
            return
        log.warning("records of %s[%d] below %d expired before they were read", *tp, begin)
        with self._database.begin() as connection:
            store_offsets(self._database, connection, {tp: begin}, self._clock.now_ms())


class _Times:
    """When things were done last, by the monotonic and the wall clock."""

    def __init__(self, clock: Clock) -> None:
        self._done: dict[str, int] = {}
        self._began = clock.monotonic_ms()
        self._stepped = clock.now_ms()

    def step(self, clock: Clock) -> None:
        self._stepped = clock.now_ms()

    def since_step(self, clock: Clock) -> int:
        return clock.now_ms() - self._stepped

    def is_due(self, what: str, every_ms: int, clock: Clock) -> bool:
        """Whether it was not done for that long; then it counts as done now."""
        now = clock.monotonic_ms()
        if now - self._done.get(what, self._began) < every_ms:
            return False
        self._done[what] = now
        return True


def _partitions_of(topics: Mapping[str, TopicInfo]) -> set[TopicPartition]:
    return {
        TopicPartition(name, number)
        for name, info in topics.items()
        for number in range(info.partitions)
    }
