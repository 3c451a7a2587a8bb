"""Records of the log -> what the read model learns from them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from tocsin.broker.port import Record
from tocsin.model.access import Audit
from tocsin.model.events import Event
from tocsin.model.fold import JobRecord
from tocsin.model.jobs import PRIORITIES
from tocsin.model.keys import InvalidKey, JobKey, parse_job_key
from tocsin.model.runs import Dead, Outcome, Run
from tocsin.model.signals import Signal
from tocsin.model.values import Value
from tocsin.wire import codec
from tocsin.wire.codec import WireError
from tocsin.wire.commands import InvalidCommand, decode_key, decode_signal
from tocsin.wire.headers import (
    AuditMark,
    Idempotency,
    read_audit_mark,
    read_idempotency,
    read_slots,
)
from tocsin.wire.job_records import read_job_record
from tocsin.wire.topics import Topics

_FIRST_MS, _LAST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The years 1 to 9999."""


class JobFact(Value, frozen=True):
    """A record of the jobs topic, to be judged by the fold."""

    partition: int
    key: JobKey
    record: JobRecord
    request: Idempotency | None = None


class SignalFact(Value, frozen=True):
    """A record of the signals topic, at its place in the log. time: its log timestamp. slots: of
    a backfill, as its sender has counted them."""

    partition: int
    offset: int
    time: int
    key: JobKey
    signal: Signal
    request: Idempotency | None = None
    slots: int | None = None


class AuditFact(Value, frozen=True):
    """A record of the audit topic; `mark` None = of a deed that was done."""

    entry: Audit
    mark: AuditMark | None = None


Fact: TypeAlias = JobFact | SignalFact | Run | Outcome | Event | Dead | AuditFact
Decode: TypeAlias = Callable[[Record], Fact]


class ForeignRecord(ValueError):
    """A record that is none of Tocsin's; the message says why."""


def decoders(topics: Topics, pools: frozenset[str], job_partitions: int) -> Mapping[str, Decode]:
    """Topic -> how its records are read. Those raise `ForeignRecord`."""
    runs = {topics.runs(priority, pool): _run for pool in pools for priority in PRIORITIES}
    return {
        topics.jobs: partial(_job, job_partitions),
        topics.signals: _signal,
        topics.outcomes: read_outcome,
        topics.events: _event,
        topics.dead: _dead,
        topics.audit: _audit,
        **runs,
    }


def _job(partitions: int, record: Record) -> JobFact:
    key = _job_key(record)
    read = read_job_record(
        key,
        record.value,
        record.headers,
        record.offset,
        record.timestamp,
        partition=record.partition,
        partitions=partitions,
    )
    request = read_idempotency(record.headers)
    return JobFact(partition=record.partition, key=key, record=read, request=request)


def _signal(record: Record) -> SignalFact:
    try:
        key, signal = decode_key(record.key), decode_signal(record.value or b"")
    except InvalidCommand as error:
        raise ForeignRecord(str(error)) from None
    return SignalFact(
        partition=record.partition,
        offset=record.offset,
        time=record.timestamp,
        key=key,
        signal=signal,
        request=read_idempotency(record.headers),
        slots=read_slots(record.headers),
    )


def _audit(record: Record) -> AuditFact:
    return AuditFact(entry=_decoded(codec.AUDIT, record), mark=read_audit_mark(record.headers))


def _run(record: Record) -> Run:
    return _decoded(codec.RUN, record)


def read_outcome(record: Record) -> Outcome:
    """Raises `ForeignRecord`."""
    return _decoded(codec.OUTCOME, record)


def _event(record: Record) -> Event:
    event = _decoded(codec.EVENT, record)
    for at in (event.scheduled_time, event.first, event.last):
        if at is not None and not _FIRST_MS <= at <= _LAST_MS:
            raise ForeignRecord(f"an event about the time {at}, which no calendar has")
    return event


def _dead(record: Record) -> Dead:
    return _decoded(codec.DEAD, record)


def _decoded(kind: codec.Codec[codec.V], record: Record) -> codec.V:
    if record.value is None:
        raise ForeignRecord("no value")
    try:
        return kind.decode(record.value)
    except WireError as error:
        raise ForeignRecord(str(error)) from None


def _job_key(record: Record) -> JobKey:
    if record.key is None:
        raise ForeignRecord("no key; a record of the jobs topic has the key tenant/job_id")
    try:
        return parse_job_key(record.key.decode())
    except (InvalidKey, UnicodeDecodeError) as error:
        raise ForeignRecord(str(error)) from None
