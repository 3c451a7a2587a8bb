"""One command for many jobs or runs: first the count, then the deed.

What is to be done is given up on at the first sign that Kafka does not answer; what a single job
or run refuses is noted, and the others go on. A slice ends after so many, or before whoever waits
for the answer might give up, and says where the next one begins: so who asks slice by slice sees it
come along, and can go on after a failure.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from starlette.concurrency import run_in_threadpool

from tocsin.model.keys import JobKey, parse_run_id
from tocsin.model.runs import UNFINISHED, RunStatus
from tocsin.model.values import Value
from tocsin_gateway.access.identity import Caller
from tocsin_gateway.commands.audit_trail import AuditTrail
from tocsin_gateway.commands.errors import (
    CommandError,
    CountDiffers,
    NotDurable,
    TooMany,
    Unconfirmed,
)
from tocsin_gateway.commands.job_batches import JobAction, JobBatches
from tocsin_gateway.commands.run_commands import RunCommands
from tocsin_gateway.projection.cursors import read_cursor, write_cursor
from tocsin_gateway.projection.database import chunks
from tocsin_gateway.projection.job_reads import JobFilter, JobReads
from tocsin_gateway.projection.projector import Clock
from tocsin_gateway.projection.run_reads import RunFilter, RunReads

T = TypeVar("T", JobKey, str)

RunAction = Literal["cancel", "redrive"]

MOST = 100_000
_DEAD: frozenset[RunStatus] = frozenset({"dead"})
_BATCH = 1_000
_AT_ONCE = 64
_MOST_TOLD = 100
_LONGEST_MS = 20_000
"""Proxies and clients wait for an answer for half a minute, or a whole one."""


class Slice(Value, frozen=True):
    """How much of what matches is meant. expect: how many have to match from the cursor on; None =
    only count. limit: deal with so many of them, the first. cursor: go on behind the last slice."""

    expect: int | None = None
    limit: int = MOST
    cursor: str | None = None


class Refusal(Value, frozen=True):
    """Why nothing was done about one of them."""

    name: str
    detail: str


class Bulk(Value, frozen=True):
    """What became of a bulk command. matched: from the cursor on. done: None = nothing was to be
    done but to count. next_cursor: where the next slice begins; None = nothing is left. left: how
    many are from there on."""

    matched: int
    done: int | None = None
    refused: tuple[Refusal, ...] = ()
    next_cursor: str | None = None
    left: int = 0


class BulkCommands:
    """Both methods raise `CountDiffers`, `TooMany`, `InvalidCursor`, and where Kafka does not
    answer `NotDurable` and `Unconfirmed`, which say how far they came."""

    def __init__(
        self,
        jobs: JobReads,
        runs: RunReads,
        batches: JobBatches,
        run_commands: RunCommands,
        trail: AuditTrail,
        clock: Clock,
    ) -> None:
        self._jobs = jobs
        self._runs = runs
        self._batches = batches
        self._run_commands = run_commands
        self._trail = trail
        self._clock = clock

    async def jobs(
        self, caller: Caller, action: JobAction, wanted: JobFilter, asked: Slice
    ) -> Bulk:
        """Pause, resume or delete the jobs that match, in the order of their ids."""
        after = None
        if asked.cursor is not None:
            after = str(*read_cursor("bulk jobs", asked.cursor, str))
        found = await run_in_threadpool(self._jobs.keys, wanted, MOST + 1, after)
        if _only_counts(found, asked.expect):
            return Bulk(matched=len(found))
        meant, refused, dealt_with = found[: asked.limit], list[Refusal](), 0
        until = self._clock.monotonic_ms() + _LONGEST_MS
        for batch in chunks(meant, _BATCH):
            try:
                errors = await self._batches.act(caller, action, batch)
            except (NotDurable, Unconfirmed) as error:
                raise _halted(error, dealt_with - len(refused), len(meant)) from error
            refused += [Refusal(name=key.job_id, detail=str(e)) for key, e in errors.items()]
            dealt_with += len(batch)
            if self._clock.monotonic_ms() >= until:
                break
        return _bulk(found, dealt_with, refused, _place_of_job)

    async def runs(
        self, caller: Caller, action: RunAction, wanted: RunFilter, asked: Slice
    ) -> Bulk:
        """Cancel the unfinished runs that match, or redrive the dead ones, the oldest first."""
        after = None
        if asked.cursor is not None:
            after = read_cursor("bulk runs", asked.cursor, int, str)
        acted_on = UNFINISHED if action == "cancel" else _DEAD
        statuses = [each for each in wanted.statuses or sorted(acted_on) if each in acted_on]
        found = await run_in_threadpool(self._runs.ids, wanted, statuses, MOST + 1, after)
        if _only_counts(found, asked.expect):
            return Bulk(matched=len(found))
        done, refused = await self._each(caller, action, found[: asked.limit])
        return _bulk(found, done + len(refused), refused, _place_of_run)

    async def _each(
        self, caller: Caller, action: RunAction, meant: Sequence[str]
    ) -> tuple[int, list[Refusal]]:
        """Some at a time, in their order, for so long: how many are done, and those refused. Raises
        `NotDurable` and `Unconfirmed` when those under way have ended."""
        left = iter(meant)
        until = self._clock.monotonic_ms() + _LONGEST_MS
        refused: list[Refusal] = []
        halted: list[NotDurable | Unconfirmed] = []
        done = 0

        async def work() -> None:
            nonlocal done
            for name in left:
                try:
                    await self._to_run(caller, action, name)
                    done += 1
                except (NotDurable, Unconfirmed) as error:
                    halted.append(error)
                except CommandError as error:
                    refused.append(Refusal(name=name, detail=str(error)))
                if halted or self._clock.monotonic_ms() >= until:
                    return

        await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
        if halted:
            raise _halted(halted[0], done, len(meant))
        return done, refused

    async def _to_run(self, caller: Caller, action: RunAction, name: str) -> None:
        async with self._trail.about(caller, action, f"run/{name}") as deed:
            if action == "cancel":
                await self._run_commands.cancel(name, caller.tenant)
            else:
                await self._run_commands.send_again(name, caller.tenant)
            deed.done()


def _only_counts(found: Sequence[object], expect: int | None) -> bool:
    """Raises `TooMany`, `CountDiffers`."""
    if len(found) > MOST:
        raise TooMany(f"the filter matches more than {MOST:,}; narrow it")
    if expect is not None and len(found) != expect:
        raise CountDiffers(f"the filter matches {len(found):,}, not {expect:,}; nothing was done")
    return expect is None


def _bulk(
    found: Sequence[T], dealt_with: int, refused: Sequence[Refusal], place: Callable[[T], str]
) -> Bulk:
    """dealt_with: how many of them, the first."""
    left = len(found) - dealt_with
    return Bulk(
        matched=len(found),
        done=dealt_with - len(refused),
        refused=tuple(refused[:_MOST_TOLD]),
        next_cursor=place(found[dealt_with - 1]) if left else None,
        left=left,
    )


def _halted(error: NotDurable | Unconfirmed, done: int, of: int) -> NotDurable | Unconfirmed:
    halted = type(error)(f"{done:,} of {of:,} are done; {error}")
    halted.done = done
    return halted


def _place_of_job(key: JobKey) -> str:
    return write_cursor("bulk jobs", (key.job_id,))


def _place_of_run(name: str) -> str:
    return write_cursor("bulk runs", (parse_run_id(name).scheduled_time, name))
