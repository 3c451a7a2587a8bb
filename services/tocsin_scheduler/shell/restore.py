"""One partition's store brought up to what was committed, a slice at a time.

    state ──► (runs ──►) jobs ──► index ──► done

*state*: the state topic from the checkpoint, or its beginning, to its end. On its way lies the
newest `%watermark/<p>`, so only now is known which pair (W, O) holds. *runs*: only where that is
not the pair of the group's offsets: what was emitted since is read back. *jobs*: the jobs topic up
to the cut, which is O, and behind it, up to the end, the restatements of records below it. *index*:
what lies behind W is entered into the due index.
"""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from tocsin.broker.port import Record, TopicPartition
from tocsin.wire.codec import WATERMARK, WireError
from tocsin.wire.headers import HeaderError, SourceIds, read_log, read_restates
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.partition import Offsets
from tocsin_scheduler.core.restoration import Restoration
from tocsin_scheduler.shell.checkpoint import CHECKPOINT_KEY, Checkpoint
from tocsin_scheduler.shell.estate import NOTHING, Accounted, Estate, furthest
from tocsin_scheduler.shell.metadata import WATERMARK_KEY
from tocsin_scheduler.shell.read_back import ReadBack
from tocsin_scheduler.shell.report import Refused
from tocsin_scheduler.shell.spans import Span, SpanReader
from tocsin_scheduler.store.local import LocalStore


class Stage(StrEnum):
    STATE = "state"
    RUNS = "runs"
    JOBS = "jobs"
    INDEX = "index"
    DONE = "done"


class Watermark(NamedTuple):
    """A `%watermark`: the pair that it holds, and the instant from which on runs may have been
    emitted behind it: its append time, as its writer's clock may have been ahead, or an earlier
    one that its writer says. sources: the topics that the offsets are in, if it says so."""

    accounted: Accounted
    time: int
    sources: SourceIds | None


BeginReadBack = Callable[[Restoration, int, int, int], ReadBack]
"""Restoration, outcomes from this offset on, runs since this instant, now: see `ReadBack`."""


class Restore:
    """`checkpoint`: what the store holds; None = it is empty. `accounted` is set when done, and
    `since`, where runs were read back: the instant from which on they were. `made_again`: the
    topics that have been deleted and made again since somebody owned the partition.

    `refused` is told of records of the state topic that cannot be read. Raises `StoreDamaged`
    from every step.
    """

    def __init__(
        self,
        store: LocalStore,
        config: CoreConfig,
        estate: Estate,
        sources: SourceIds,
        checkpoint: Checkpoint | None,
        spans: SpanReader,
        begin_read_back: BeginReadBack,
        refused: Refused,
    ) -> None:
        self.store = store
        self.estate = estate
        self.accounted = NOTHING
        self.since: int | None = None
        self.made_again: list[str] = []
        self.stage = Stage.STATE
        self._sources = sources
        self._config = config
        self._checkpoint = checkpoint
        self._spans = spans
        self._restoration = Restoration(
            store, config, None if checkpoint is None else checkpoint.place
        )
        self._begin_read_back = begin_read_back
        self._refused = refused
        self._read_back: ReadBack | None = None
        self._watermark: Watermark | None = None
        self._index: Iterator[None] = iter(())
        store.write({CHECKPOINT_KEY: None})
        start = estate.state_log.begin if checkpoint is None else checkpoint.state
        self._span = self._read(config.topics.state, start, estate.state_log.end, self._load_state)

    @property
    def state_offset(self) -> int:
        """Where the state topic is read on from, by whoever brings this store up to date next."""
        return self.estate.state_log.end

    @property
    def remaining(self) -> int:
        """Offsets still to read, at most."""
        jobs = self.estate.jobs_log
        ahead = jobs.end - jobs.begin if self.stage is Stage.STATE else 0
        return self._span.left + ahead

    @property
    def is_working(self) -> bool:
        """Whether the next step does not wait for records."""
        return self._read_back is not None or (self.stage is not Stage.DONE and self._span.done)

    def step(self, now: int) -> bool:
        """Go on where what was to be read has been read; whether all is done."""
        self._span.check()
        if self.stage is Stage.STATE and self._span.done:
            self._choose(now)
        elif self.stage is Stage.RUNS:
            self._step_back(now)
        elif self.stage is Stage.JOBS and self._span.done:
            self.stage = Stage.INDEX
            self._index = self._restoration.finish()
        elif self.stage is Stage.INDEX and next(self._index, self) is self:
            self.stage = Stage.DONE
        return self.stage is Stage.DONE

    def give_up(self) -> None:
        """The partition has gone: leave the rest unread."""
        self._span.cancel()
        if self._read_back is not None:
            self._read_back.close()

    def _choose(self, now: int) -> None:
        """Which pair holds, and with it the cut."""
        checkpoint, watermark = self._checkpoint, self._watermark
        known = [
            (found.accounted, found.time) for found in (checkpoint, watermark) if found is not None
        ]
        pair = furthest([self.estate.committed, *(pair for pair, _ in known)])
        self.accounted = self._in_this_log(pair)
        was_read = self._watermark is not None and bool(self.made_again)
        if self._is_trusted(pair) and not was_read:
            self._read_jobs(now)
            return
        outcomes = self.estate.clamped(self.accounted.offsets).outcomes
        committed = (self.estate.committed, self.estate.committed_since)
        self.since = min(
            time
            for other, time in (committed, *known)
            if (other == pair or was_read) and time is not None
        )
        self._read_back = self._begin_read_back(self._restoration, outcomes, self.since, now)
        self.stage = Stage.RUNS

    def _is_trusted(self, pair: Accounted) -> bool:
        """Whether it is the group's own, beyond which nobody has been, or nobody has been here at
        all. A claim that had nothing to go by says the same, and much may have happened since."""
        if pair == self.estate.committed:
            return self.estate.committed_since is None
        return self._checkpoint is None and self._watermark is None

    def _in_this_log(self, pair: Accounted) -> Accounted:
        """A topic that has been made again is read from its beginning. Each claim writes a
        watermark, so the newest one tells which topics the last owner knew."""
        topics = self._config.topics
        if self._watermark is None and self._checkpoint is None and pair != NOTHING:
            self.made_again = [topics.state]
        known = None if self._watermark is None else self._watermark.sources
        if known is None or known == self._sources:
            return pair
        is_same = [one == other for one, other in zip(known, self._sources, strict=True)]
        names = zip((topics.jobs, topics.signals, topics.outcomes), is_same, strict=True)
        self.made_again = [name for name, same in names if not same]
        kept = (offset if same else 0 for offset, same in zip(pair.offsets, is_same, strict=True))
        return pair._replace(offsets=Offsets(*kept))

    def _step_back(self, now: int) -> None:
        assert self._read_back is not None
        self._read_back.step()
        if self._read_back.is_done:
            self._read_back = None
            self._read_jobs(now)

    def _read_jobs(self, now: int) -> None:
        self._restoration.begin_jobs(self.accounted.place, now)
        checkpoint, begin = self._checkpoint, self.estate.jobs_log.begin
        start = begin if checkpoint is None else checkpoint.jobs
        self.stage = Stage.JOBS
        self._span = self._read(
            self._config.topics.jobs, start, self.estate.jobs_log.end, self._load_job
        )

    def _load_state(self, record: Record) -> None:
        key = record.key or b""
        try:
            if key.startswith(WATERMARK_KEY):
                self._watermark = _read_watermark(record)
            else:
                self._restoration.load_state(key, record.value)
        except WireError as error:
            self._refused(record, error)

    def _load_job(self, record: Record) -> None:
        cut = self.accounted.offsets.jobs
        if record.offset < cut or _judges_below(record, cut):
            self._restoration.load_job(record)

    def _read(self, topic: str, start: int, through: int, feed: Callable[[Record], None]) -> Span:
        place = TopicPartition(topic, self._config.partition)

        def feed_all(records: list[Record]) -> None:
            for record in records:
                feed(record)

        span = Span(place, start, through, feed_all)
        self._spans.add(span)
        return span


def _read_watermark(record: Record) -> Watermark:
    watermark = WATERMARK.decode(record.value or b"")
    offsets = Offsets(watermark.jobs, watermark.signals, watermark.outcomes)
    since = min(record.timestamp, watermark.time)
    return Watermark(Accounted(watermark.place, offsets), since, read_log(record.headers))


def _judges_below(record: Record, cut: int) -> bool:
    """Whether it restates what was held when a record below the cut was judged."""
    try:
        restates = read_restates(record.headers)
    except HeaderError:
        return False
    return restates is not None and restates.through < cut
