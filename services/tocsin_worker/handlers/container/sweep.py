"""Containers that no living worker has, removed at the start and ever after."""

import asyncio
import logging
from collections.abc import Set as AbstractSet

import aiohttp
import msgspec

from tocsin_worker.handlers.container.engine import Engine
from tocsin_worker.handlers.container.errors import EngineError
from tocsin_worker.handlers.container.orphans import Orphan, Place, overdue, predecessors

LOG = logging.getLogger(__name__)

EVERY_SECONDS = 60.0
_SWEEP_SECONDS = 10.0


class Sweep:
    """Of one engine, which other workers may use too.

    A container says until when somebody may be busy with it: after that it is an orphan, whichever
    worker made it. What is left of the workers that a node had before is removed earlier, once:
    later a name that two workers share by mistake would cost one of them what it has.
    """

    def __init__(
        self, engine: Engine, place: Place, at_work: AbstractSet[str], every_s: float
    ) -> None:
        """`at_work`: names of containers that this worker is busy with, at any moment."""
        self._engine = engine
        self._place = place
        self._at_work = at_work
        self._every_s = every_s
        self._is_first = True
        self._repeating: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """The first one now, and one each minute from now on, whether or not the engine answers
        this time."""
        self._repeating = asyncio.get_running_loop().create_task(self._repeat())
        await self._once()

    def end(self) -> None:
        if self._repeating is not None:
            self._repeating.cancel()

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            try:
                await self._once()
            except (EngineError, aiohttp.ClientError, OSError, msgspec.DecodeError) as error:
                LOG.warning(
                    "cannot look for containers that were left behind: %s: %s",
                    type(error).__name__,
                    error,
                    extra={"action": "orphans_not_swept"},
                )

    async def _once(self) -> None:
        async with asyncio.timeout(_SWEEP_SECONDS):
            if self._is_first:
                for orphan in await predecessors(self._engine, self._place):
                    await self._remove(orphan)
                self._is_first = False
            for orphan in await overdue(self._engine):
                if self._at_work.isdisjoint(orphan.names):
                    await self._remove(orphan)

    async def _remove(self, orphan: Orphan) -> None:
        """One that cannot be removed keeps none of the others."""
        LOG.warning(
            "removing a container that was left behind",
            extra={"action": "orphan_removed", "run_id": orphan.run_id},
        )
        try:
            await self._engine.remove(orphan.container)
        except EngineError as error:
            LOG.warning(
                "container %s could not be removed: %s",
                orphan.container,
                error,
                extra={"action": "container_left_behind", "run_id": orphan.run_id},
            )
