"""Commands to the log: durable first, then judged by this gateway's own fold."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Literal, NamedTuple

from starlette.concurrency import run_in_threadpool

from tocsin.broker.errors import BrokerError, RecordRefused
from tocsin.broker.port import Delivered, Headers, Producer, TopicPartition
from tocsin.model.access import Audit, Token
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin.model.signals import Signal
from tocsin.wire.codec import AUDIT, JOB, SIGNAL, TOKEN
from tocsin.wire.headers import (
    AuditMark,
    Idempotency,
    audit_header,
    condition_header,
    idempotency_headers,
    slots_header,
)
from tocsin.wire.topics import Topics
from tocsin_gateway.commands.deeds import Deed, deed_under_way
from tocsin_gateway.commands.errors import NotDurable, TooLarge, Unconfirmed
from tocsin_gateway.commands.waiting import all_settled, settled
from tocsin_gateway.projection.job_lookups import JobLookups
from tocsin_gateway.projection.job_reads import CommandPlace, JobReads, Judged, StoredJob
from tocsin_gateway.projection.progress import Progress

_MOST_IN_FLIGHT = 256


class Appended(NamedTuple):
    """Where a record stands, its log timestamp, what became of it, and the job afterwards, where
    that was looked up: None = it does not exist."""

    offset: int
    timestamp: int
    judged: Judged
    stored: StoredJob | None = None


class Definition(NamedTuple):
    """What is to be written of a job (None = delete it), on the condition of a revision."""

    key: JobKey
    job: Job | None
    condition: int


class CommandLog:
    """Writes for requests on the event loop. Someone else has to `poll` the producer."""

    def __init__(
        self,
        producer: Producer,
        topics: Topics,
        progress: Progress,
        jobs: JobReads,
        lookups: JobLookups,
        *,
        durable_timeout: float,
        fold_timeout: float,
    ) -> None:
        self._producer = producer
        self._topics = topics
        self._progress = progress
        self._jobs = jobs
        self._lookups = lookups
        self._durable_timeout = durable_timeout
        self._fold_timeout = fold_timeout
        self._in_flight = 0

    async def append_job(
        self,
        key: JobKey,
        job: Job | None,
        condition: int | Literal["none"] | None,
        request: Idempotency | None = None,
    ) -> Appended:
        """Write a definition (None = delete) and wait for the verdict of the fold.

        Raises `NotDurable`, `TooLarge`, `Unconfirmed`.
        """
        await self._begin_deed()
        value = None if job is None else JOB.encode(job)
        headers = [] if condition is None else [condition_header(condition)]
        headers += [] if request is None else idempotency_headers(request)
        delivered = await self._append(self._topics.jobs, key, value, headers)
        offset = await self._passed(delivered)
        found = await self._lookups.settled.get(CommandPlace(delivered.partition, offset, key))
        judged, stored = found or (None, None)
        return Appended(offset, delivered.timestamp, _known(judged), stored)

    async def append_signal(
        self,
        key: JobKey,
        signal: Signal,
        request: Idempotency | None = None,
        slots: int | None = None,
    ) -> Delivered:
        """Write a signal; wait until the read model has passed what it keeps of signals: requests
        and backfills.

        Raises `NotDurable`, `TooLarge`, `Unconfirmed`.
        """
        await self._begin_deed()
        headers = [] if request is None else idempotency_headers(request)
        headers += [] if slots is None else [slots_header(slots)]
        delivered = await self._append(self._topics.signals, key, SIGNAL.encode(signal), headers)
        if request is not None or signal.signal == "backfill":
            await self._passed(delivered)
        return delivered

    async def append_jobs(self, definitions: Sequence[Definition]) -> list[Appended]:
        """As `append_job`, for many at once."""
        sent = [
            self._send(
                self._topics.jobs,
                each.key,
                None if each.job is None else JOB.encode(each.job),
                [condition_header(each.condition)],
            )
            for each in definitions
        ]
        delivered = await self._acknowledged(sent)
        places = [(each.partition, _offset(each)) for each in delivered]
        for partition, offset in sorted(dict(sorted(places)).items()):
            await self._reached(TopicPartition(self._topics.jobs, partition), offset)
        judged = await run_in_threadpool(self._jobs.judged_of_many, places)
        return [
            Appended(offset, each.timestamp, _known(judged.get((partition, offset))))
            for each, (partition, offset) in zip(delivered, places, strict=True)
        ]

    async def begin_deeds(self, deeds: Sequence[Deed]) -> None:
        """Record that they are about to be done; raises `NotDurable`, `TooLarge`."""
        await self.append_audit([(deed.entry, AuditMark("begun", deed.deed_id)) for deed in deeds])
        for deed in deeds:
            deed.is_begun = True

    async def append_audit(self, records: Sequence[tuple[Audit, AuditMark]]) -> None:
        """Write what somebody does; raises `NotDurable`, `TooLarge`."""
        await self._acknowledged(
            [
                self._send(
                    self._topics.audit,
                    f"{entry.tenant}/{entry.object}",
                    AUDIT.encode(entry),
                    [audit_header(mark)],
                )
                for entry, mark in records
            ]
        )

    async def append_token(self, digest: str, token: Token) -> Delivered:
        """Write an API token; raises `NotDurable`."""
        await self._begin_deed()
        return await self._append(self._topics.access, digest, TOKEN.encode(token), [])

    async def _begin_deed(self) -> None:
        """Before anything is written of the deed under way, its beginning."""
        deed = deed_under_way()
        if deed is not None and not deed.is_begun:
            await self.begin_deeds([deed])

    async def _passed(self, delivered: Delivered) -> int:
        """The record's offset, when the read model has passed it. Raises `Unconfirmed`."""
        offset = _offset(delivered)
        await self._reached(TopicPartition(delivered.topic, delivered.partition), offset)
        return offset

    async def _reached(self, place: TopicPartition, offset: int) -> None:
        """Wait until the read model has passed the record. Raises `Unconfirmed`."""
        try:
            await settled(self._progress.passed(place, offset), self._fold_timeout)
        except TimeoutError:
            raise Unconfirmed(
                "the command is in the log, but what became of it is not known yet; read the job"
            ) from None

    async def _append(
        self, topic: str, key: JobKey | str, value: bytes | None, headers: Headers
    ) -> Delivered:
        if self._in_flight >= _MOST_IN_FLIGHT:
            raise NotDurable(f"{_MOST_IN_FLIGHT} commands wait for Kafka already")
        self._in_flight += 1
        try:
            (delivered,) = await self._acknowledged([self._send(topic, key, value, headers)])
        finally:
            self._in_flight -= 1
        return delivered

    def _send(
        self, topic: str, key: JobKey | str, value: bytes | None, headers: Headers
    ) -> "Future[Delivered]":
        """What a producer refuses at once is in the future, too."""
        try:
            return self._producer.send(topic, str(key).encode(), value, headers=headers)
        except BrokerError as error:
            refused: Future[Delivered] = Future()
            refused.set_exception(error)
            return refused

    async def _acknowledged(self, sent: Sequence["Future[Delivered]"]) -> list[Delivered]:
        """Where they stand. Raises `TooLarge`, `NotDurable` where that goes for one of them."""
        try:
            return await all_settled(sent, self._durable_timeout)
        except RecordRefused as error:
            raise TooLarge(f"Kafka refuses the record: {error.reason}") from error
        except (BrokerError, TimeoutError) as error:
            raise NotDurable(
                "Kafka has not acknowledged the command; it may or may not take effect, and may "
                "be repeated"
            ) from error


def _offset(delivered: Delivered) -> int:
    if delivered.offset is None:
        raise Unconfirmed("the command is in the log, but Kafka lost where; read the job")
    return delivered.offset


def _known(judged: Judged | None) -> Judged:
    if judged is None:
        raise Unconfirmed("the command was judged, but too long ago to say how; read the job")
    return judged
