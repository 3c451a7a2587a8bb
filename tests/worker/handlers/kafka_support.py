"""What tests of handler `kafka` share: a handler on a real cluster, and runs for it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tocsin.broker.local import BrokerAddress
from tocsin.model.runs import Run
from tocsin.settings import load_settings
from tocsin_worker.handlers.kafka.clusters import Clusters
from tocsin_worker.handlers.kafka.handler import KafkaHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import handler_run

OWN_PREFIX = "own"


def kafka_run(topic: str, payload: object = None, **config: Any) -> Run:
    """`payload`: encoded as JSON."""
    return handler_run("kafka", {"topic": topic, **config}, payload)


def kafka_handler(
    broker: BrokerAddress, others: dict[str, dict[str, str]] | None = None, **secrets: str
) -> KafkaHandler:
    """`others`: further clusters. `secrets`: by the names that jobs use."""
    settings = load_settings({"TOCSIN_BROKERS": broker.bootstrap, "TOCSIN_PREFIX": OWN_PREFIX})
    held = Secrets(None, {f"TOCSIN_SECRET_{name.upper()}": text for name, text in secrets.items()})
    return KafkaHandler(Clusters("w-1", settings, others or {}), held, OWN_PREFIX)


@asynccontextmanager
async def silent_broker() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """An address that takes connections and never answers, and the event that one came."""
    asked = asyncio.Event()
    held: list[socket.socket] = []

    async def listen(listener: socket.socket) -> None:
        while True:
            held.append((await asyncio.get_running_loop().sock_accept(listener))[0])
            asked.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        listening = asyncio.ensure_future(listen(listener))
        yield f"127.0.0.1:{listener.getsockname()[1]}", asked
        listening.cancel()
        await asyncio.wait([listening])
    for connection in held:
        connection.close()
