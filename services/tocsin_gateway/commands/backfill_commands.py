"""Backfills: running the slots of a time that has passed."""

from itertools import islice

from starlette.concurrency import run_in_threadpool

from tocsin.model.errors import FieldError, InvalidSignal
from tocsin.model.fold import Held
from tocsin.model.jobs import Job, Overlap
from tocsin.model.keys import JobKey
from tocsin.model.signals import Signal
from tocsin.timetable import schedule_of
from tocsin.wire.headers import Idempotency
from tocsin_gateway.commands.errors import BackfillEnded, NoSuchBackfill, NoSuchJob
from tocsin_gateway.commands.signals import Draft, Signals
from tocsin_gateway.projection.backfills import Backfill, BackfillReads
from tocsin_gateway.projection.job_lookups import JobLookups

MOST_SLOTS = 10_000


class BackfillCommands:
    """One method a command. All raise `CommandError`s, and `InvalidSignal`."""

    def __init__(self, signals: Signals, lookups: JobLookups, backfills: BackfillReads) -> None:
        self._signals = signals
        self._lookups = lookups
        self._backfills = backfills

    async def start(
        self,
        key: JobKey,
        from_time: int,
        to_time: int,
        overlap: Overlap | None,
        request: Idempotency | None = None,
    ) -> tuple[Backfill, bool]:
        """Ask for a run of each slot in [from, to), also of those that ran; as it stands, and
        whether it was asked for before. Raises `NoSuchJob`."""

        async def prepare(signal_id: str) -> Draft:
            held = await self._held(key)
            if held is None or held.job is None:
                raise NoSuchJob(f"there is no job {key}")
            signal = Signal(
                signal="backfill",
                signal_id=signal_id,
                assumes=held.revision,
                from_time=from_time,
                to_time=to_time,
                overlap=overlap,
            )
            slots = await run_in_threadpool(count_slots, held.job, from_time, to_time)
            return Draft(signal, slots)

        sent = await self._signals.send(key, request, prepare)
        found = await run_in_threadpool(self._backfills.find, key.tenant, sent.signal_id)
        assert found is not None, "the signal has been passed"
        return found, sent.replayed

    async def cancel(
        self, tenant: str, backfill_id: str, request: Idempotency | None = None
    ) -> tuple[Backfill, bool]:
        """Run none of the slots that are left; runs that are out go on. Raises `NoSuchBackfill`,
        `BackfillEnded`."""
        found = await run_in_threadpool(self._backfills.find, tenant, backfill_id)
        if found is None:
            raise NoSuchBackfill(f"there is no backfill {backfill_id[:80]}")
        key = JobKey(tenant, found.job_id)

        async def prepare(signal_id: str) -> Draft:
            if found.finished_time is not None:
                raise BackfillEnded("the backfill has ended")
            return Draft(
                Signal(signal="cancel", signal_id=signal_id, backfill_id=found.backfill_id)
            )

        sent = await self._signals.send(key, request, prepare)
        return found, sent.replayed

    async def _held(self, key: JobKey) -> Held | None:
        return await self._lookups.held.get(key)


def count_slots(job: Job, from_time: int, to_time: int) -> int:
    """How many slots the job has in [from, to). Raises `InvalidSignal` where no backfill can be
    made of them."""
    schedule = schedule_of(job.schedule)
    if schedule.at_ms is not None:
        raise _wrong("/from", "schedule", "a one-off has no slots to fill; trigger it instead")
    if to_time <= from_time:
        raise _wrong("/to", "minimum", "to must be later than from")
    found = schedule.occurrences_ms(from_time - 1)
    slots = 0
    for slot in islice(found, MOST_SLOTS + 1):
        if slot >= to_time:
            break
        slots += 1
    if slots == 0:
        raise _wrong("/from", "slots", "the schedule has no slot in [from, to)")
    if slots > MOST_SLOTS:
        message = f"more than {MOST_SLOTS:,} slots in [from, to); fill them in several steps"
        raise _wrong("/to", "slots", message)
    return slots


def _wrong(pointer: str, keyword: str, message: str) -> InvalidSignal:
    return InvalidSignal([FieldError(pointer=pointer, keyword=keyword, message=message)])
