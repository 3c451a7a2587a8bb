"""A partition's log and its owner in one process: commands in, time on, crashes between steps.

The log is lists, a commit appends to them all at once; what a crash leaves behind is the log and
the local store as it was after the last post, or no store at all.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tocsin.model.events import Event
from tocsin.model.runs import Outcome, Run
from tocsin.wire.codec import EVENT, OUTCOME, RUN
from tocsin.wire.headers import read_restates
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.partition import NO_OFFSETS, Offsets, Partition, Source
from tocsin_scheduler.core.place import NOWHERE
from tocsin_scheduler.core.restoration import Restoration
from tocsin_scheduler.core.turn import Budget
from tocsin_scheduler.store.memory import MemoryStore

TOPICS = Topics()
EPOCH = 1_790_000_000_000
"""Where the time of these tests begins: 2026-09-21T14:13:20Z."""


class Rec(NamedTuple):
    """A record of one of the consumed topics."""

    offset: int
    timestamp: int
    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]]


class Checkpoint(NamedTuple):
    """What a store was brought up to; `state`: records of the state topic."""

    offsets: Offsets
    place: bytes
    state: int


@dataclass
class Log:
    """The topics of one partition, and what was committed with them."""

    jobs: list[Rec] = field(default_factory=list)
    signals: list[Rec] = field(default_factory=list)
    outcomes: list[Rec] = field(default_factory=list)
    state: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    others: list[Outgoing] = field(default_factory=list)
    committed: Offsets = NO_OFFSETS
    place: bytes = NOWHERE

    def topic(self, source: Source) -> list[Rec]:
        return {
            Source.JOBS: self.jobs,
            Source.SIGNALS: self.signals,
            Source.OUTCOMES: self.outcomes,
        }[source]

    def append(
        self,
        source: Source,
        timestamp: int,
        key: bytes,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes]] = (),
    ) -> Rec:
        """Log timestamps never go back."""
        topic = self.topic(source)
        if topic:
            timestamp = max(timestamp, topic[-1].timestamp)
        record = Rec(len(topic), timestamp, key, value, list(headers))
        topic.append(record)
        return record

    def commit(self, out: list[Outgoing], offsets: Offsets, place: bytes, now: int) -> None:
        for record in out:
            self._write(record, now)
        self.committed, self.place = offsets, place

    def _write(self, record: Outgoing, now: int) -> None:
        if record.topic == TOPICS.jobs:
            self.append(Source.JOBS, now, record.key, record.value, record.headers or ())
        elif record.topic == TOPICS.outcomes:
            self.append(Source.OUTCOMES, now, record.key, record.value)
        elif record.topic == TOPICS.state:
            self.state.append((record.key, record.value))
        elif record.topic.startswith("tocsin.runs.") and record.value:
            self.runs.append(RUN.decode(record.value))
        elif record.topic == TOPICS.events and record.value:
            self.events.append(EVENT.decode(record.value))
        else:
            self.others.append(record)


class World:
    """One partition whose owner can be killed at any step. `now` is the owner's clock.

    results: what the committed transactions count, as the metric does.
    """

    def __init__(self, config: CoreConfig | None = None) -> None:
        self.config = config or CoreConfig(topics=TOPICS, partition=0, partitions=1)
        self.log = Log()
        self.now = EPOCH
        self.store = MemoryStore()
        self.checkpoint: Checkpoint | None = None
        self.wake: int | None = None
        self.results: Counter[str] = Counter()
        self.partition = self._restored()

    # what others do

    def put(
        self,
        key: str,
        value: bytes | None,
        headers: Iterable[tuple[str, bytes]] = (),
        *,
        skew_ms: int = 0,
    ) -> Rec:
        """A command; the broker's clock may be behind the owner's by `skew_ms`."""
        return self.log.append(Source.JOBS, self.now - skew_ms, key.encode(), value, headers)

    def signal(self, key: str, value: bytes) -> Rec:
        return self.log.append(Source.SIGNALS, self.now, key.encode(), value)

    def say(self, outcome: Outcome) -> Rec:
        """A worker's outcome, appended now."""
        key = str(outcome.key).encode()
        return self.log.append(Source.OUTCOMES, self.now, key, OUTCOME.encode(outcome))

    # what the owner does

    def turn(
        self,
        budget: Budget | None = None,
        *,
        outcomes_read: int | None = None,
        crash: str = "",
        most: int = 1_000_000,
    ) -> bool:
        """One transaction: apply what has arrived, advance, commit, post.

        crash: `before_commit` or `after_commit` kills the owner there; its successor restores.
        Returns whether the budget ended before the work did.
        """
        partition = self.partition
        read = self.now if outcomes_read is None else outcomes_read
        partition.begin(self.now, read, budget or Budget())
        for source in Source:
            start = getattr(partition.offsets, source.value)
            for record in self.log.topic(source)[start : start + most]:
                partition.apply(source, record)
        progress = partition.advance()
        if crash == "before_commit":
            self.partition = self._restored()
            return True
        out = partition.prepared()
        place = partition.turn.place
        self.log.commit(out, partition.committing, place, self.now)
        if crash == "after_commit":
            self.partition = self._restored()
            return True
        self.results += partition.turn.results
        partition.post({})
        self.checkpoint = Checkpoint(partition.committing, place, len(self.log.state))
        self.wake = progress.next_wake
        return progress.more

    def restart(self) -> None:
        """The owner dies between two transactions; its successor finds the store."""
        self.partition = self._restored()

    def lose_store(self) -> None:
        """The owner dies, and its disk with it."""
        self.store, self.checkpoint = MemoryStore(), None
        self.partition = self._restored()

    def run_until(self, instant: int) -> None:
        """Let time pass, waking when something is due."""
        while True:
            more = self.turn()
            if more or (self.wake is not None and self.wake <= self.now):
                continue
            if self.now == instant:
                return
            self.now = instant if self.wake is None else min(instant, max(self.wake, self.now))

    def _restored(self) -> Partition:
        """Cold without a checkpoint; then a live partition from what was committed."""
        log, checkpoint = self.log, self.checkpoint
        cut = log.committed.jobs
        restoration = Restoration(
            self.store, self.config, None if checkpoint is None else checkpoint.place
        )
        for key, value in log.state[checkpoint.state if checkpoint else 0 :]:
            restoration.load_state(key, value)
        restoration.begin_jobs(log.place, self.now)
        for record in log.jobs[checkpoint.offsets.jobs if checkpoint else 0 : cut]:
            restoration.load_job(record)
        for record in log.jobs[cut:]:
            restates = read_restates(record.headers)
            if restates is not None and restates.through < cut:
                restoration.load_job(record)
        for _ in restoration.finish():
            pass
        self.checkpoint = Checkpoint(log.committed, log.place, len(log.state))
        partition = Partition(self.store, self.config, log.place, log.committed)
        partition.start_leases(self.now)
        partition.remember(log.topic(Source.OUTCOMES)[: log.committed.outcomes])
        return partition
