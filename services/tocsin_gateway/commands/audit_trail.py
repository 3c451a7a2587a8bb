"""Who did what, in the audit topic: that it is about to be done, then that it was.

Nothing of a deed is written before its beginning is on record. So a gateway that dies in between
leaves a record of who was about to do what; nothing that was done goes without one.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tocsin.model.access import Audit
from tocsin.model.errors import InvalidJob, InvalidSignal
from tocsin.wire.headers import AuditMark
from tocsin_gateway.access.identity import Caller
from tocsin_gateway.commands.command_log import CommandLog
from tocsin_gateway.commands.deeds import Deed, carrying_out
from tocsin_gateway.commands.errors import CommandError, NotDurable, TooLarge, Unconfirmed
from tocsin_gateway.projection.projector import Clock

log = logging.getLogger(__name__)


class AuditTrail:
    """Writes the audit log."""

    def __init__(self, commands: CommandLog, clock: Clock) -> None:
        self._commands = commands
        self._clock = clock

    @asynccontextmanager
    async def about(self, caller: Caller, action: str, of: str) -> AsyncIterator[Deed]:
        """Record a deed that the block does, or finds that it must not, or need not, do. It begins
        with the first thing that the block writes.

        Of a command whose end is not known, the beginning goes on to tell.
        """
        deed = self._deed(caller, action, of)
        try:
            with carrying_out(deed):
                yield deed
        except (NotDurable, Unconfirmed):
            raise
        except (CommandError, InvalidJob, InvalidSignal):
            await self.end([deed])
            raise
        await self.end([deed])

    async def begin(self, caller: Caller, action: str, objects: Sequence[str]) -> list[Deed]:
        """Record that deeds are about to be done. Raises `NotDurable`, `TooLarge`."""
        deeds = [self._deed(caller, action, of) for of in objects]
        await self._commands.begin_deeds(deeds)
        return deeds

    async def end(self, deeds: Sequence[Deed]) -> None:
        """Record which of those that were begun were done. A failure takes nothing back: it is an
        error in the log of this gateway, with all that the records say."""
        records = [
            (deed.entry, AuditMark("done" if deed.is_done else "void", deed.deed_id))
            for deed in deeds
            if deed.is_begun
        ]
        try:
            await self._commands.append_audit(records)
        except (NotDurable, TooLarge) as error:
            log.error(
                "not in the audit log: %s: %s", records, error, extra={"action": "audit_failed"}
            )

    def _deed(self, caller: Caller, action: str, of: str) -> Deed:
        return Deed(
            Audit(
                time=self._clock.now_ms(),
                tenant=caller.tenant,
                actor=caller.identity.actor,
                action=action,
                object=of,
                request_id=caller.request_id,
            )
        )
