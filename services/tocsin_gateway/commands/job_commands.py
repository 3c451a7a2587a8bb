"""Creating, replacing, changing and deleting jobs.

Every write that is made from what was read carries the revision that was read; the log's fold
decides. Where the caller set no condition of their own, a write that came too late is made again
from what is stored by then. A request with an idempotency key is looked up each time the revision
is read: a command that was carried out has changed the revision, so that no second one can.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from tocsin.model.errors import FieldError, InvalidJob
from tocsin.model.fold import Held, JobRecord, completed, judge
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin.model.values import Value
from tocsin.timetable import schedule_of
from tocsin.timetable.instants import format_instant
from tocsin.wire.headers import Idempotency
from tocsin_gateway.commands.command_log import Appended, CommandLog
from tocsin_gateway.commands.errors import Busy, JobExists, NoSuchJob, WrongRevision
from tocsin_gateway.commands.preconditions import MUST_NOT_EXIST, NO_CONDITION, Precondition
from tocsin_gateway.commands.requests import Requests
from tocsin_gateway.projection.job_lookups import JobLookups
from tocsin_gateway.projection.job_reads import StoredJob
from tocsin_gateway.projection.projector import Clock
from tocsin_gateway.projection.request_rows import StoredRequest

_TRIES = 20

Condition = int | Literal["none"] | None
Change = Callable[[Job], Job]


class Accepted(Value, frozen=True):
    """A definition that is in force. created: by this command. before: the revision that it has
    replaced. replayed: this command stood in the log before. stored: the job after this command,
    where the read model still has that definition."""

    held: Held
    job: Job
    created: bool
    before: int | None = None
    replayed: bool = False
    stored: StoredJob | None = None


class Deleted(Value, frozen=True):
    """revision: what was deleted, where it was deleted by this command."""

    revision: int | None = None
    replayed: bool = False


class _Intent(Value, frozen=True):
    """A write that is tried until it is decided. build: what is to be written, of what is held.
    is_change: without what is held there is nothing to be written."""

    key: JobKey
    build: Callable[[Held | None], Job]
    precondition: Precondition
    dry_run: bool
    request: Idempotency | None
    is_change: bool = False


class JobCommands:
    """One method a command. All raise `CommandError`s, and `InvalidJob` where the definition
    cannot be accepted now."""

    def __init__(
        self,
        log: CommandLog,
        lookups: JobLookups,
        requests: Requests,
        clock: Clock,
        *,
        compaction_lag_ms: int,
    ) -> None:
        self._log = log
        self._lookups = lookups
        self._requests = requests
        self._clock = clock
        self._compaction_lag_ms = compaction_lag_ms

    async def put(
        self,
        job: Job,
        precondition: Precondition,
        *,
        dry_run: bool,
        request: Idempotency | None = None,
    ) -> Accepted:
        """Create or replace. What the definition leaves out is kept from what is stored."""
        intent = _Intent(
            key=job.key,
            build=lambda held: _whole(job, held),
            precondition=precondition,
            dry_run=dry_run,
            request=request,
        )
        try:
            return await self._write(intent)
        except Busy:
            if request is not None:
                raise
            # Without a condition the fold itself fills in what is left out, whatever is stored.
            appended = await self._log.append_job(job.key, job, None)
            return self._accepted(None, job, None, appended)

    async def create(
        self, job: Job, *, dry_run: bool, request: Idempotency | None = None
    ) -> Accepted:
        """Raises `JobExists`."""
        intent = _Intent(
            key=job.key,
            build=lambda held: _whole(job, held),
            precondition=MUST_NOT_EXIST,
            dry_run=dry_run,
            request=request,
        )
        try:
            return await self._write(intent)
        except WrongRevision:
            raise JobExists(f"the job {job.key} exists") from None

    async def change(
        self,
        key: JobKey,
        change: Change,
        precondition: Precondition,
        *,
        dry_run: bool = False,
        request: Idempotency | None = None,
    ) -> Accepted:
        """Replace by what `change` makes of the stored definition; it may be asked repeatedly."""

        def build(held: Held | None) -> Job:
            if held is None or held.job is None:
                raise NoSuchJob(f"there is no job {key}")
            return change(held.job)

        return await self._write(
            _Intent(
                key=key,
                build=build,
                precondition=precondition,
                dry_run=dry_run,
                request=request,
                is_change=True,
            )
        )

    async def pause(
        self, key: JobKey, note: str | None, *, request: Idempotency | None = None
    ) -> Accepted:
        """A note that is not given leaves the one of an earlier pause."""
        return await self.change(key, lambda job: paused(job, note), NO_CONDITION, request=request)

    async def resume(self, key: JobKey, *, request: Idempotency | None = None) -> Accepted:
        return await self.change(key, resumed, NO_CONDITION, request=request)

    async def delete(
        self, key: JobKey, precondition: Precondition, *, request: Idempotency | None = None
    ) -> Deleted:
        """Raises `NoSuchJob`, `WrongRevision`."""
        with self._requests.begun(key.tenant, request):
            for _ in range(_TRIES):
                held = await self._held(key)
                if await self._requests.first(key, request) is not None:
                    return Deleted(replayed=True)
                if held is None or not held.exists:
                    raise NoSuchJob(f"there is no job {key}")
                condition = precondition.condition(held.revision)
                if condition is None and request is not None:
                    condition = held.revision
                appended = await self._log.append_job(key, None, condition, request)
                if appended.judged.verdict != "conflict":
                    return Deleted(revision=held.revision)
                if precondition.names_revision or request is None:
                    raise WrongRevision(appended.judged.reason)
        raise Busy(f"others changed the job {key} {_TRIES} times in the meantime")

    async def _write(self, intent: _Intent) -> Accepted:
        with self._requests.begun(intent.key.tenant, intent.request):
            for _ in range(_TRIES):
                accepted = await self._try(intent)
                if accepted is not None:
                    return accepted
        raise Busy(f"others changed the job {intent.key} {_TRIES} times in the meantime")

    async def _try(self, intent: _Intent) -> Accepted | None:
        """None = somebody was faster; try again from what is stored by then."""
        held = await self._held(intent.key)
        first = await self._requests.first(intent.key, intent.request)
        if first is not None:
            return _replayed(first)
        revision = held.revision if held is not None and held.exists else None
        condition = intent.precondition.condition(revision)
        known = condition in (None, "none", revision)
        if intent.is_change and revision is not None and not known:
            raise WrongRevision(f"the job is at revision {revision}, not {condition}")
        job = intent.build(held if known else None)
        _check_instant(job, held, self._clock.now_ms())
        if intent.dry_run:
            return self._would_be(held, job, condition)
        if condition is None:
            condition = "none" if revision is None else revision
        appended = await self._log.append_job(intent.key, job, condition, intent.request)
        if appended.judged.verdict != "conflict":
            first = await self._requests.earlier(intent.key, intent.request, appended.offset)
            if first is not None:
                return _replayed(first)
            return self._accepted(held, job, condition, appended)
        if not intent.precondition.names_revision:
            return None
        first = await self._requests.first(intent.key, intent.request)
        if first is not None:
            return _replayed(first)
        raise WrongRevision(appended.judged.reason)

    def _accepted(
        self, held: Held | None, job: Job, condition: Condition, appended: Appended
    ) -> Accepted:
        """What is in force through the record: by the read model, or, where a later record has
        replaced it there already, by the fold of the record itself."""
        found, stored = self._in_force(held, job, condition, appended)
        if found is None or found.job is None:
            raise NoSuchJob(f"the job {job.key} was deleted in the meantime")
        return Accepted(
            held=found,
            job=found.job,
            created=found.created_revision == appended.offset,
            before=held.revision if held is not None and held.exists else None,
            stored=stored,
        )

    def _in_force(
        self, held: Held | None, job: Job, condition: Condition, appended: Appended
    ) -> tuple[Held | None, StoredJob | None]:
        """See `_accepted`; with the job of the read model, where that is the one."""
        stored = appended.stored
        if stored is not None and stored.held.revision == appended.judged.revision:
            return stored.held, stored
        record = JobRecord(
            offset=appended.offset, timestamp=appended.timestamp, job=job, condition=condition
        )
        return judge(held, record, compaction_lag_ms=self._compaction_lag_ms).held, None

    def _would_be(self, held: Held | None, job: Job, condition: Condition) -> Accepted:
        """As if the command stood in the log now, at the revision that is stored."""
        revision = held.revision if held is not None else 0
        record = JobRecord(
            offset=revision, timestamp=self._clock.now_ms(), job=job, condition=condition
        )
        judgement = judge(held, record, compaction_lag_ms=self._compaction_lag_ms)
        if judgement.verdict == "conflict":
            raise WrongRevision(judgement.reason)
        assert judgement.held is not None
        stored = judgement.held.job
        assert stored is not None
        return Accepted(held=judgement.held, job=stored, created=held is None or not held.exists)

    async def _held(self, key: JobKey) -> Held | None:
        return await self._lookups.held.get(key)


def paused(job: Job, note: str | None) -> Job:
    """The definition of the paused job; without a note it keeps that of an earlier pause."""
    kept = job.status_note if job.status == "paused" else None
    return msgspec.structs.replace(job, status="paused", status_note=note or kept)


def resumed(job: Job) -> Job:
    """The definition of the job that goes on."""
    return msgspec.structs.replace(job, status="active", status_note=None)


def _replayed(first: StoredRequest) -> Accepted:
    """The answer to the request that the command carried out."""
    held = first.held
    if held.job is None:
        raise NoSuchJob(f"the job {first.tenant}/{first.job_id} was deleted in the meantime")
    created = held.created_revision == first.record_offset
    return Accepted(held=held, job=held.job, created=created, replayed=True)


def _whole(job: Job, held: Held | None) -> Job:
    """The definition with what the fold would keep of the stored one. An interval that begins
    anew stays without a start: that is the log timestamp, which is not known yet."""
    filled = completed(job, held, 0)
    assert filled is not None
    stored = held.job if held is not None else None
    if stored is not None and stored.schedule.every_ms == job.schedule.every_ms:
        return filled
    return msgspec.structs.replace(filled, schedule=job.schedule)


def _check_instant(job: Job, held: Held | None, now: int) -> None:
    """A one-off that is new or moved may be late by `catch_up.after` at the most."""
    at = schedule_of(job.schedule).at_ms
    stored = held.job if held is not None else None
    if at is None or (stored is not None and schedule_of(stored.schedule).at_ms == at):
        return
    if at < now - job.catch_up.after_ms:
        message = (
            f"{format_instant(at)} has passed; a one-off may be late by catch_up.after, "
            f"{job.catch_up.after_ms // 1000} s, at the most"
        )
        raise InvalidJob([FieldError(pointer="/schedule/at", keyword="past", message=message)])
