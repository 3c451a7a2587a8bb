"""The same command for many jobs: written, acknowledged and judged a batch at a time."""

from collections.abc import Sequence
from typing import Literal

from starlette.concurrency import run_in_threadpool

from tocsin.model.fold import Held
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin_gateway.access.identity import Caller
from tocsin_gateway.commands.audit_trail import AuditTrail
from tocsin_gateway.commands.command_log import CommandLog, Definition
from tocsin_gateway.commands.deeds import Deed
from tocsin_gateway.commands.errors import (
    CommandError,
    NoSuchJob,
    NotDurable,
    Unconfirmed,
)
from tocsin_gateway.commands.job_commands import JobCommands, paused, resumed
from tocsin_gateway.commands.preconditions import NO_CONDITION
from tocsin_gateway.projection.job_reads import JobReads

JobAction = Literal["pause", "resume", "delete"]


class JobBatches:
    """Pauses, resumes or deletes."""

    def __init__(
        self, log: CommandLog, jobs: JobReads, commands: JobCommands, trail: AuditTrail
    ) -> None:
        self._log = log
        self._jobs = jobs
        self._commands = commands
        self._trail = trail

    async def act(
        self, caller: Caller, action: JobAction, keys: Sequence[JobKey]
    ) -> dict[JobKey, CommandError]:
        """Those about which nothing was done, each with the reason. A job that others have changed
        meanwhile is dealt with again, as it stands then.

        Raises `NotDurable` and `Unconfirmed` where that goes for any: then more or fewer are done.
        """
        held = await run_in_threadpool(self._jobs.held_of_many, keys)
        errors: dict[JobKey, CommandError] = {
            key: NoSuchJob(f"there is no job {key}") for key in keys if not _exists(held.get(key))
        }
        drafts = [draft for key in keys if (draft := _draft(action, key, held.get(key)))]
        deeds = await self._trail.begin(
            caller, action, [f"job/{each.key.job_id}" for each in drafts]
        )
        appended = await self._log.append_jobs(drafts)
        for draft, deed, result in zip(drafts, deeds, appended, strict=True):
            if result.judged.verdict != "conflict":
                deed.done(held[draft.key].revision, result.judged.revision)
                continue
            try:
                await self._again(action, draft.key, deed)
            except (NotDurable, Unconfirmed):
                raise
            except CommandError as error:
                errors[draft.key] = error
        await self._trail.end(deeds)
        return errors

    async def _again(self, action: JobAction, key: JobKey, deed: Deed) -> None:
        if action == "delete":
            deed.done((await self._commands.delete(key, NO_CONDITION)).revision)
            return
        commands = self._commands
        accepted = await (commands.pause(key, None) if action == "pause" else commands.resume(key))
        deed.done(accepted.before, accepted.held.revision)


def _exists(held: Held | None) -> bool:
    return held is not None and held.exists


def _draft(action: JobAction, key: JobKey, held: Held | None) -> Definition | None:
    """What is to be written; None where that would change nothing."""
    if held is None or held.job is None:
        return None
    wanted: Job | None = None
    if action == "pause":
        wanted = paused(held.job, None)
    elif action == "resume":
        wanted = resumed(held.job)
    return None if wanted == held.job else Definition(key, wanted, held.revision)
