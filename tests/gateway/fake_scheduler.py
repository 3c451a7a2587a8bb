"""A scheduler that does as little as the gateway can tell from a real one.

It judges the jobs topic with the shared fold, restates void records and records that are not
whole, and answers signals with runs, events and outcomes.
"""

from collections.abc import Callable
from uuid import UUID

import msgspec

from tocsin.broker.port import Record
from tocsin.model.events import Event, EventType
from tocsin.model.fold import Held, JobRecord, judge, restatement
from tocsin.model.jobs import Job
from tocsin.model.keys import InvalidKey, JobKey, parse_job_key, run_id
from tocsin.model.runs import Cause, Error, Outcome, OutcomeKind, Run
from tocsin.model.signals import Signal
from tocsin.testing import MemoryCluster
from tocsin.wire.codec import EVENT, JOB, OUTCOME, RUN
from tocsin.wire.commands import decode_signal
from tocsin.wire.headers import restates_header
from tocsin.wire.job_records import read_job_record
from tocsin.wire.topics import Topics

DAY_MS = 86_400_000


class FakeScheduler:
    """`step` by hand. `busy`: jobs of which triggers are skipped."""

    def __init__(self, cluster: MemoryCluster, topics: Topics, partitions: int) -> None:
        self._cluster = cluster
        self._topics = topics
        self._partitions = partitions
        self._read: dict[tuple[str, int], int] = {}
        self._producer = cluster.producer()
        self.held: dict[JobKey, Held] = {}
        self.busy: set[JobKey] = set()
        self.deferred: dict[str, Run] = {}
        self.signals: list[Signal] = []
        self._applied: set[tuple[JobKey, str]] = set()

    def step(self) -> None:
        """Deal with all that is new."""
        for partition in range(self._partitions):
            self._each(self._topics.jobs, partition, self._judge)
            self._each(self._topics.signals, partition, self._obey)

    def judged(self, partition: int) -> int:
        """Offset behind the last record of the jobs topic that it has judged."""
        return self._read.get((self._topics.jobs, partition), 0)

    def emit(self, run: Run) -> None:
        """As it emits an attempt."""
        topic = self._topics.runs(run.priority, run.pool)
        self._producer.produce(topic, run.run_id.encode(), RUN.encode(run))

    def tell(self, event: Event) -> None:
        """As it records a decision."""
        self._producer.produce(self._topics.events, str(event.key).encode(), EVENT.encode(event))

    def run_of(self, key: JobKey, scheduled_time: int, suffix: str = "", attempt: int = 1) -> Run:
        """A run of a job that is held."""
        held = self.held[key]
        assert held.job is not None
        return whole_run(held.job, held.revision, scheduled_time, suffix, attempt)

    def report(
        self, run: Run, kind: OutcomeKind, error: Error | None = None, result: bytes | None = None
    ) -> None:
        """As a worker says what becomes of an attempt."""
        outcome = outcome_of(run, kind, error, result)
        self._producer.produce(
            self._topics.outcomes, str(run.key).encode(), OUTCOME.encode(outcome)
        )

    def _each(self, topic: str, partition: int, deal: Callable[[Record], None]) -> None:
        start = self._read.get((topic, partition), 0)
        for record in self._cluster.records(topic, partition):
            if record.offset >= start:
                self._read[topic, partition] = record.offset + 1
                deal(record)

    def _judge(self, record: Record) -> None:
        try:
            key = parse_job_key((record.key or b"").decode())
        except InvalidKey:
            return
        read = read_job_record(
            key,
            record.value,
            record.headers,
            record.offset,
            record.timestamp,
            partition=record.partition,
            partitions=self._partitions,
        )
        judgement = judge(self.held.get(key), read, compaction_lag_ms=DAY_MS)
        if judgement.held is not None:
            self.held[key] = judgement.held
        if judgement.verdict in ("conflict", "invalid"):
            self.tell(_event(key, "rejected", record.timestamp, judgement.reason))
        if judgement.restate:
            self._restate(key, read, judgement.held, record.partition)

    def before_restating(self) -> None:
        """Others may write between what is judged and its restatement."""

    def _restate(self, key: JobKey, record: JobRecord, held: Held | None, partition: int) -> None:
        self.before_restating()
        job = None if held is None else held.job
        headers = [restates_header(restatement(held, record))]
        value = None if job is None else JOB.encode(job)
        name = str(key).encode()
        self._producer.produce(self._topics.jobs, name, value, partition, headers)

    def _obey(self, record: Record) -> None:
        key = parse_job_key((record.key or b"").decode())
        signal = decode_signal(record.value or b"")
        self.signals.append(signal)
        if UUID(signal.signal_id).version == 5 and (key, signal.signal_id) in self._applied:
            return
        self._applied.add((key, signal.signal_id))
        if signal.signal == "trigger":
            self._trigger(key, signal, record.timestamp)
        elif signal.signal == "cancel" and signal.run_id is not None:
            event = _event(key, "cancelled", record.timestamp, "cancelled by command")
            self.tell(msgspec.structs.replace(event, run_id=signal.run_id, attempt=1))
        elif signal.signal == "cancel":
            reason = f"{signal.backfill_id}: cancelled"
            self.tell(_event(key, "backfill_finished", record.timestamp, reason))
        elif signal.signal == "backfill":
            self.tell(_event(key, "backfill_started", record.timestamp, signal.signal_id))
        elif signal.signal == "redrive" and signal.dead is not None:
            run, attempt = signal.dead.run, signal.dead.attempts + 1
            self.emit(msgspec.structs.replace(run, attempt=attempt, cause="redrive"))
        elif signal.signal == "complete":
            self._complete(signal)

    def _complete(self, signal: Signal) -> None:
        run = self.deferred.pop(signal.run_id or "")
        kind: OutcomeKind = "succeeded" if signal.succeeded else "failed"
        self.report(run, kind, signal.error, signal.result)

    def defer(self, run: Run) -> None:
        """A worker says that the run goes on elsewhere."""
        self.deferred[run.run_id] = run
        self.report(run, "deferred")

    def _trigger(self, key: JobKey, signal: Signal, timestamp: int) -> None:
        suffix = f"-m{signal.signal_id[:8]}"
        if key not in self.busy:
            run = self.run_of(key, timestamp, suffix)
            payload = run.payload if signal.payload is None else signal.payload
            self.emit(msgspec.structs.replace(run, cause="manual", payload=payload))
            return
        skipped = _event(key, "skipped", timestamp, "overlap: a run of the job is unfinished")
        name = run_id(*key, timestamp, suffix)
        self.tell(msgspec.structs.replace(skipped, run_id=name, scheduled_time=timestamp))


def whole_run(
    job: Job, revision: int, scheduled_time: int, suffix: str = "", attempt: int = 1
) -> Run:
    """A run as the scheduler emits it."""
    cause: Cause = "schedule"
    return Run(
        run_id=run_id(job.tenant, job.job_id, scheduled_time, suffix),
        scheduled_time=scheduled_time,
        due_time=scheduled_time,
        emitted_time=scheduled_time + 3,
        expires_time=scheduled_time + job.queue_timeout_ms,
        attempt=attempt,
        cause=cause,
        tracked=True,
        max_attempts=job.retry.max_attempts,
        tenant=job.tenant,
        job_id=job.job_id,
        revision=revision,
        priority=job.priority,
        pool=job.pool,
        handler=job.handler,
        payload=job.payload,
        timeout_ms=job.timeout_ms,
    )


def outcome_of(
    run: Run,
    kind: OutcomeKind,
    error: Error | None = None,
    result: bytes | None = None,
    worker: str = "worker-1",
) -> Outcome:
    """What a worker says of an attempt, 10 ms after it was emitted."""
    carries_run = kind in ("started", "deferred", "failed", "declined")
    return Outcome(
        run_id=run.run_id,
        tenant=run.tenant,
        job_id=run.job_id,
        attempt=run.attempt,
        kind=kind,
        worker=worker,
        time=run.emitted_time + 20,
        started_time=run.emitted_time + 10,
        run=run if carries_run else None,
        result=result,
        error=error,
    )


def _event(key: JobKey, kind: EventType, time: int, reason: str) -> Event:
    return Event(tenant=key.tenant, job_id=key.job_id, type=kind, time=time, reason=reason)
