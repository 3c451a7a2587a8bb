"""A worker with a handler that lets go of nothing: a module to run.

Runs of the type `stubborn` ignore being cancelled, and the handler never closes.
"""

import asyncio
import os
import sys

from tocsin.logs import configure_logging
from tocsin.model.runs import Run
from tocsin.settings import load_settings
from tocsin_worker import service
from tocsin_worker.handlers import catalogue
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.port import Context, Equipment, Success
from tocsin_worker.handlers.registry import Registry


class Stubborn:
    """Anyone's handler, at its worst."""

    type = "stubborn"

    async def execute(self, run: Run, context: Context) -> Success:
        return await self._hang()

    async def close(self) -> None:
        await self._hang()

    async def _hang(self) -> Success:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue


def registry(equipment: Equipment) -> Registry:
    """Beside the one that does nothing."""
    return Registry([NoopHandler(), Stubborn()])


if __name__ == "__main__":
    configure_logging()
    catalogue.registry = registry
    sys.exit(service.run_worker(load_settings(os.environ)))
