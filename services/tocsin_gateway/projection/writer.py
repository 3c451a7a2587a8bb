"""Batches of records into the read model: rows and consumed offsets in one SQL transaction."""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, select, update

from tocsin.broker.port import Record, TopicPartition
from tocsin.broker.refused import log_refused
from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin.model.runs import Outcome
from tocsin.model.values import Value
from tocsin_gateway.projection.audit_log import store_audit
from tocsin_gateway.projection.backfills import store_backfills
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.facts import (
    AuditFact,
    Decode,
    Fact,
    ForeignRecord,
    JobFact,
    SignalFact,
)
from tocsin_gateway.projection.grown_jobs import GrownJobs
from tocsin_gateway.projection.handler_rows import HandlerRows
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.job_counts import JobCounts
from tocsin_gateway.projection.job_rows import fold_jobs, store_verdicts
from tocsin_gateway.projection.request_rows import (
    requests_of_jobs,
    requests_of_signals,
    store_requests,
)
from tocsin_gateway.projection.run_fold import RunFold
from tocsin_gateway.projection.run_rows import history_facts, load_fold, store_fold
from tocsin_gateway.projection.tables import offsets
from tocsin_gateway.projection.tally_rows import tally_batch

_STORED = select(offsets.c.topic, offsets.c.partition, offsets.c.next_offset)


class Written(Value, frozen=True):
    """What a committed batch changed. `reached`: next offsets. runs: rows by their ids. foreign:
    records left out. outcomes: all that were read, also those that stood in the read model."""

    reached: dict[TopicPartition, int]
    runs: Mapping[str, RunRow] = {}
    pools: frozenset[str] = frozenset()
    foreign: tuple[TopicPartition, ...] = ()
    outcomes: tuple[tuple[Record, Outcome], ...] = ()


class OffsetsMoved(Exception):
    """Somebody has begun the read model anew, or switched to another: the stored offsets are not
    those that were read from."""


class Writer:
    """The only writer of rows. Each call is one SQL transaction, all of it or nothing."""

    def __init__(self, database: Database, *, compaction_lag_ms: int, runs_a_job: int) -> None:
        """runs_a_job: so many are kept of each."""
        self._database = database
        self._compaction_lag_ms = compaction_lag_ms
        self._handlers = HandlerRows(database)
        self._grown = GrownJobs(database, runs_a_job)
        self._counts = JobCounts(database)

    def begin_anew(self) -> None:
        """The read model is another, or stands at other offsets, than after the last `write`."""
        self._handlers.begin_anew()

    def write(
        self,
        records: Sequence[Record],
        start: Mapping[TopicPartition, int],
        reached: Mapping[TopicPartition, int],
        decoders: Mapping[str, Decode],
        now: int,
    ) -> Written:
        """Fold the records, read from `start` on, and store `reached`: next offsets, both.

        Records below a stored offset are in the read model already (another gateway shares it)
        and are left out. Raises `OffsetsMoved` and SQLAlchemy's errors; then nothing was written.
        """
        facts, foreign = decode(records, decoders)
        with self._database.begin() as connection:
            stored = stored_offsets(connection, reached)
            _check_start(start, stored)
            new = _above(stored, start, facts)
            with self._counts.counted(connection, _jobs_of(new)):
                pools = self._fold_jobs(connection, new, now)
                history = self._fold_history(connection, new, foreign)
            self._keep_commands(connection, new)
            self._handlers.note(connection, history.runs.values(), now)
            self._grown.note(connection, history.runs.values())
            further = {tp: max(offset, stored.get(tp, 0)) for tp, offset in reached.items()}
            store_offsets(self._database, connection, further, now)
        return Written(
            reached=further,
            runs=history.runs,
            pools=pools,
            foreign=tuple(foreign),
            outcomes=tuple((r, fact) for r, fact in facts if isinstance(fact, Outcome)),
        )

    def _fold_jobs(
        self, connection: Connection, facts: Sequence[tuple[Record, Fact]], now: int
    ) -> frozenset[str]:
        job_facts = [fact for _, fact in facts if isinstance(fact, JobFact)]
        if not job_facts:
            return frozenset()
        judgements = fold_jobs(
            self._database, connection, job_facts, compaction_lag_ms=self._compaction_lag_ms
        )
        store_verdicts(self._database, connection, job_facts, judgements, now)
        store_requests(self._database, connection, requests_of_jobs(job_facts, judgements))
        return pools_of(job_facts)

    def _keep_commands(self, connection: Connection, facts: Sequence[tuple[Record, Fact]]) -> None:
        signals = [fact for _, fact in facts if isinstance(fact, SignalFact)]
        store_requests(self._database, connection, requests_of_signals(signals))
        store_backfills(self._database, connection, signals)
        entries = [(record, fact) for record, fact in facts if isinstance(fact, AuditFact)]
        store_audit(self._database, connection, entries)

    def _fold_history(
        self,
        connection: Connection,
        facts: Sequence[tuple[Record, Fact]],
        foreign: list[TopicPartition],
    ) -> RunFold:
        found = history_facts(facts)
        fold = load_fold(self._database, connection, (fact for _, fact in found))
        for record, fact in found:
            try:
                fold.fold(record, fact)
            except ForeignRecord as error:
                log_refused(record, error)
                foreign.append(_place(record))
        store_fold(self._database, connection, fold)
        tally_batch(self._database, connection, fold.read, fold.runs)
        return fold


def decode(
    records: Iterable[Record], decoders: Mapping[str, Decode]
) -> tuple[list[tuple[Record, Fact]], list[TopicPartition]]:
    """What the records say, and the places of those that cannot be read. Heartbeats say nothing."""
    facts: list[tuple[Record, Fact]] = []
    foreign = []
    for record in records:
        try:
            fact = decoders[record.topic](record)
        except ForeignRecord as error:
            log_refused(record, error)
            foreign.append(_place(record))
            continue
        if not (isinstance(fact, Outcome) and fact.kind == "heartbeat"):
            facts.append((record, fact))
    return facts, foreign


def _jobs_of(facts: Iterable[tuple[Record, Fact]]) -> set[JobKey]:
    """The jobs whose phase may be another after these facts."""
    return {
        fact.key
        for _, fact in facts
        if isinstance(fact, JobFact) or (isinstance(fact, Event) and fact.type == "completed")
    }


def pools_of(facts: Iterable[JobFact]) -> frozenset[str]:
    """The pools that these definitions name."""
    return frozenset(fact.record.job.pool for fact in facts if fact.record.job is not None)


def stored_offsets(
    connection: Connection, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """The next offsets of those of the partitions that the read model has."""
    found: dict[tuple[str, int], int] = {
        (topic, partition): offset for topic, partition, offset in connection.execute(_STORED)
    }
    return {tp: found[tp] for tp in partitions if tp in found}


def store_offsets(
    database: Database, connection: Connection, reached: Mapping[TopicPartition, int], now: int
) -> None:
    """Store the next offsets. `now`: when the log was read so far."""
    rows = ((tp.topic, tp.partition, offset, now) for tp, offset in reached.items())
    database.upsert(connection, offsets, rows)


def touch_offsets(connection: Connection, partitions: Iterable[TopicPartition], now: int) -> None:
    """Say that nothing more was in the log at `now`."""
    for topic in {tp.topic for tp in partitions}:
        connection.execute(update(offsets).where(offsets.c.topic == topic).values(read_time=now))


def _check_start(start: Mapping[TopicPartition, int], stored: Mapping[TopicPartition, int]) -> None:
    for tp, offset in start.items():
        if stored.get(tp, -1) < offset:
            raise OffsetsMoved(
                f"{tp.topic}[{tp.partition}] was read from {offset}, "
                f"the read model has {stored.get(tp, 'nothing')}"
            )


def _above(
    stored: Mapping[TopicPartition, int],
    start: Mapping[TopicPartition, int],
    facts: list[tuple[Record, Fact]],
) -> list[tuple[Record, Fact]]:
    """Those that are not in the read model yet: all, where nobody else has written to it."""
    if stored == start:
        return facts
    return [(r, fact) for r, fact in facts if r.offset >= stored.get(_place(r), 0)]


def _place(record: Record) -> TopicPartition:
    return TopicPartition(record.topic, record.partition)
