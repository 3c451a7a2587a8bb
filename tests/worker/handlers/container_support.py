"""What tests of handler `container` share: runs, and a look at the engine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.worker.handlers.podman import IMAGE
from tocsin.model.runs import Run
from tocsin_worker.handlers.container.engine import Engine
from tocsin_worker.handlers.container.handler import ContainerHandler
from tocsin_worker.handlers.container.orphans import Place
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT, handler_run

SECRETS = Secrets(None, {"TOCSIN_SECRET_DB": "corr3ct horse"})


def container_run(*command: str, payload: object = None, attempt: int = 1, **config: Any) -> Run:
    """`payload`: encoded as JSON. The image is the tests' own, without a network."""
    given = {"image": IMAGE, "command": command, "pull": "never", "network": "none", **config}
    return handler_run("container", given, payload, attempt=attempt)


def shell(script: str, **config: Any) -> Run:
    return container_run("/bin/sh", "-c", script, **config)


@asynccontextmanager
async def container_handler(
    socket: Path, node: str = "node-1", *, stable: bool = True, sweep_s: float = 60
) -> AsyncIterator[ContainerHandler]:
    handler = ContainerHandler(Place(socket, CONTEXT.worker, node, stable), SECRETS, sweep_s)
    try:
        yield handler
    finally:
        await handler.close()


@asynccontextmanager
async def engine(socket: Path) -> AsyncIterator[Engine]:
    looking = Engine(socket)
    try:
        yield looking
    finally:
        await looking.close()


async def first_labelled(looking: Engine, label: str) -> str:
    """The id of a container with this label, once there is one."""
    async with asyncio.timeout(60):
        while True:
            found = await looking.labelled(label)
            if found:
                return found[0].id
            await asyncio.sleep(0.05)
