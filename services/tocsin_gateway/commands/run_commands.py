"""Triggering jobs, and cancelling, redriving and completing runs."""

from collections.abc import Callable
from typing import NamedTuple

import msgspec
from starlette.concurrency import run_in_threadpool

from tocsin import clock
from tocsin.model.fold import Held
from tocsin.model.jobs import Overlap
from tocsin.model.keys import JobKey, run_id
from tocsin.model.runs import UNFINISHED, Error, RunStatus
from tocsin.model.signals import Signal
from tocsin.model.values import Value
from tocsin.wire.codec import DEAD
from tocsin.wire.headers import Idempotency
from tocsin_gateway.commands.errors import (
    NoSuchJob,
    NoSuchRun,
    NotDead,
    NotDeferred,
    RunEnded,
    Unconfirmed,
)
from tocsin_gateway.commands.signals import Draft, Sent, Signals
from tocsin_gateway.commands.waiting import settled
from tocsin_gateway.projection.history import RunRow, new_row
from tocsin_gateway.projection.job_lookups import JobLookups
from tocsin_gateway.projection.progress import Progress
from tocsin_gateway.projection.run_reads import RunReads

_OPEN: frozenset[RunStatus] = frozenset({"pending", "running", "retrying"})


class Told(NamedTuple):
    """A run as it stands after a command. replayed: the command stood in the log before."""

    row: RunRow
    replayed: bool


class Completion(Value, frozen=True):
    """How a run ended that its handler has left open. attempt: None = the one that is open."""

    succeeded: bool
    attempt: int | None = None
    result: bytes | None = None
    error: Error | None = None


class RunCommands:
    """One method a command. All raise `CommandError`s, and `InvalidSignal`."""

    def __init__(
        self,
        signals: Signals,
        progress: Progress,
        lookups: JobLookups,
        runs: RunReads,
        *,
        run_timeout: float,
    ) -> None:
        self._signals = signals
        self._progress = progress
        self._lookups = lookups
        self._runs = runs
        self._run_timeout = run_timeout

    async def trigger(
        self,
        key: JobKey,
        payload: bytes | None,
        overlap: Overlap | None,
        request: Idempotency | None = None,
    ) -> Told:
        """Ask for a run now. Its row, also where it was skipped; where no scheduler has acted in
        time, a row that only says what was asked for: it will run."""

        async def prepare(signal_id: str) -> Draft:
            held = await self._held(key)
            if held is None or not held.exists:
                raise NoSuchJob(f"there is no job {key}")
            return Draft(
                Signal(
                    signal="trigger",
                    signal_id=signal_id,
                    assumes=held.revision,
                    payload=payload,
                    overlap=overlap,
                )
            )

        sent = await self._signals.send(key, request, prepare)
        name = run_id(*key, sent.time, f"-m{sent.signal_id[:8]}")
        return Told(await self._learn(name), sent.replayed)

    async def cancel(self, name: str, tenant: str, request: Idempotency | None = None) -> Told:
        """Ask for the end of a run; the row as it stands. Raises `NoSuchRun`, `RunEnded`."""
        row = await self._row(name, tenant)
        key = JobKey(row.tenant, row.job_id)

        async def prepare(signal_id: str) -> Draft:
            if row.status not in UNFINISHED:
                raise RunEnded(f"the run is {row.status}")
            assumes = await self._revision(key)
            return Draft(Signal(signal="cancel", signal_id=signal_id, assumes=assumes, run_id=name))

        sent = await self._signals.send(key, request, prepare)
        return Told(row, sent.replayed)

    async def redrive(self, name: str, tenant: str, request: Idempotency | None = None) -> Told:
        """Run a dead run again, under the present definition and with a fresh budget; its row as
        soon as it is out. Raises `NoSuchRun`, `NotDead`."""
        sent = await self.send_again(name, tenant, request)
        await self._until(name, lambda now: now.status != "dead")
        return Told(await self._row(name, tenant), sent.replayed)

    async def send_again(self, name: str, tenant: str, request: Idempotency | None = None) -> Sent:
        """As `redrive`, without waiting for the run."""
        row = await self._row(name, tenant)
        key = JobKey(row.tenant, row.job_id)

        async def prepare(signal_id: str) -> Draft:
            if row.status != "dead":
                raise NotDead(f"the run is {row.status}; only a dead one can be redriven")
            record = await run_in_threadpool(self._runs.dead_letter, name)
            if record is None:
                raise NotDead("the run is dead, but its record is not kept any more")
            assumes, dead = await self._revision(key), DEAD.decode(record)
            return Draft(Signal(signal="redrive", signal_id=signal_id, assumes=assumes, dead=dead))

        return await self._signals.send(key, request, prepare)

    async def complete(
        self, name: str, tenant: str, completion: Completion, request: Idempotency | None = None
    ) -> Told:
        """End a run that its handler has left open; its row after that. A run that is not known
        to be open yet is waited for: the news of it may be on its way.

        Raises `NoSuchRun`, `RunEnded`, `NotDeferred`, `Unconfirmed`.
        """
        row = await self._row(name, tenant)
        key = JobKey(row.tenant, row.job_id)
        attempt = 0

        async def prepare(signal_id: str) -> Draft:
            nonlocal attempt
            await self._until(name, lambda now: now.status not in _OPEN)
            attempt = _check_open(await self._row(name, tenant), completion.attempt)
            return Draft(
                Signal(
                    signal="complete",
                    signal_id=signal_id,
                    run_id=name,
                    attempt=attempt,
                    succeeded=completion.succeeded,
                    result=completion.result,
                    error=completion.error,
                )
            )

        sent = await self._signals.send(key, request, prepare)
        await self._until(name, lambda now: _is_past(now, attempt))
        row = await self._row(name, tenant)
        if not _is_past(row, attempt) and not sent.replayed:
            raise Unconfirmed("the completion is in the log, and will count soon; read the run")
        return Told(row, sent.replayed)

    async def _row(self, name: str, tenant: str) -> RunRow:
        row = await run_in_threadpool(self._runs.row, name)
        if row is None or row.tenant != tenant:
            raise NoSuchRun(f"there is no run {name[:300]}")
        return row

    async def _learn(self, name: str) -> RunRow:
        await self._until(name, lambda _: True)
        row = await run_in_threadpool(self._runs.row, name)
        return msgspec.structs.replace(new_row(name), cause="manual") if row is None else row

    async def _held(self, key: JobKey) -> Held | None:
        return await self._lookups.held.get(key)

    async def _revision(self, key: JobKey) -> int | None:
        held = await self._held(key)
        return None if held is None else held.revision

    async def _until(self, name: str, met: Callable[[RunRow], bool]) -> None:
        """Wait for the run's row to be so; no longer than `run_timeout`."""
        end = clock.monotonic_ms() + round(self._run_timeout * 1000)
        while True:
            learnt = self._progress.learnt(name)
            row = await run_in_threadpool(self._runs.row, name)
            left = (end - clock.monotonic_ms()) / 1000
            if left <= 0 or (row is not None and met(row)):
                learnt.cancel()
                return
            try:
                await settled(learnt, left)
            except TimeoutError:
                learnt.cancel()
                return


def _check_open(row: RunRow, attempt: int | None) -> int:
    """The attempt that is open. Raises `RunEnded`, `NotDeferred`."""
    if row.status not in UNFINISHED:
        raise RunEnded(f"the run is {row.status}")
    if row.status != "deferred":
        raise NotDeferred(f"the run is {row.status}; only a deferred one can be completed")
    if attempt not in (None, row.attempt):
        raise NotDeferred(f"attempt {attempt} is over; {row.attempt} is deferred")
    return row.attempt


def _is_past(row: RunRow, attempt: int) -> bool:
    """Whether what was said of that attempt shows."""
    return row.status != "deferred" or row.attempt > attempt
