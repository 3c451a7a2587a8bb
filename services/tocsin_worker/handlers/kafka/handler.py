"""The handler itself."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from tocsin.broker.errors import BrokerError, Die, PropertiesRefused, RecordRefused
from tocsin.broker.port import Cluster, Delivered, Headers
from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.configs import read_config, unusable
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.kafka.clusters import Clusters
from tocsin_worker.handlers.kafka.config import KafkaConfig
from tocsin_worker.handlers.kafka.sender import Sender
from tocsin_worker.handlers.payloads import is_empty, payload_bytes
from tocsin_worker.handlers.port import Context, HandlerFailed, Success
from tocsin_worker.handlers.run_facts import run_headers
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.threads import pool

R = TypeVar("R")


class KafkaResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the record stands; `offset` None where the brokers do not say."""

    topic: str
    partition: int
    offset: int | None = None


class KafkaHandler:
    """Produces the payload; success is the acknowledgement of all in-sync replicas.

    Retried is what may pass: no answer, or none in time, after which the record may stand in the
    log all the same. A record or topic that the cluster refuses is permanent.
    """

    type = "kafka"

    def __init__(self, clusters: Clusters, secrets: Secrets, own_prefix: str) -> None:
        """`own_prefix`: of Tocsin's own topics, which no job may write."""
        self._clusters = clusters
        self._secrets = secrets
        self._own_prefix = own_prefix
        self._senders: dict[str | None, Sender] = {}
        self._opening = asyncio.Lock()
        self._opener = pool("kafka-opener", 1)

    async def execute(self, run: Run, context: Context) -> Success:
        config = read_config(run.handler, KafkaConfig)
        if config.cluster is None and config.topic.startswith(f"{self._own_prefix}."):
            message = f"{config.topic} is one of Tocsin's own topics"
            raise HandlerFailed(Error(code="target_refused", message=message, permanent=True))
        disclosure = Disclosure(self._secrets)
        headers, value = _headers(run, config, disclosure), _value(run, config)
        sender = await self._sender(config.cluster, disclosure)
        delivered = await _delivered(sender, config, value, headers)
        return Success(msgspec.json.encode(KafkaResult(*delivered[:3])))

    async def close(self) -> None:
        async with self._opening:
            for sender in self._senders.values():
                await self._in_opener(sender.close)
            self._senders.clear()
            self._opener.shutdown(wait=False)

    async def _sender(self, cluster: str | None, disclosure: Disclosure) -> Sender:
        """The one there is, unless it has ended; made anew it has fresh secrets."""
        sender = self._senders.get(cluster)
        if sender is not None and sender.trouble is None:
            return sender
        async with self._opening:
            sender = self._senders.get(cluster)
            if sender is None or sender.trouble is not None:
                opened = self._clusters.open(cluster, disclosure)
                if sender is not None:
                    await self._in_opener(sender.close)
                sender = self._senders[cluster] = await self._opened(opened, disclosure)
        return sender

    async def _opened(self, cluster: Cluster, disclosure: Disclosure) -> Sender:
        """Raises `HandlerFailed` where this worker's properties of the cluster are wrong: another
        worker may have right ones."""
        try:
            return await self._in_opener(partial(Sender, cluster))
        except PropertiesRefused as error:
            message = disclosure.hide(error.reason)
            raise HandlerFailed(Error(code="invalid", message=message)) from error

    def _in_opener(self, call: Callable[[], R]) -> "asyncio.Future[R]":
        return asyncio.get_running_loop().run_in_executor(self._opener, call)


async def _delivered(
    sender: Sender, config: KafkaConfig, value: bytes | None, headers: Headers
) -> Delivered:
    try:
        loop = asyncio.get_running_loop()
        sent = await loop.run_in_executor(sender.threads, sender.send, config, value, headers)
        return await asyncio.wrap_future(sent)
    except BrokerError as error:
        raise HandlerFailed(_error(sender.trouble or error)) from error


def _error(error: BrokerError) -> Error:
    code = f" ({error.code})" if error.code else ""
    message = f"{error.reason}{code}" + (f" at {error.place}" if error.place else "")
    if isinstance(error, RecordRefused):
        return Error(code="invalid", message=message, permanent=True)
    return Error(code="connect", message=message, permanent=isinstance(error, Die))


def _headers(run: Run, config: KafkaConfig, disclosure: Disclosure) -> Headers:
    theirs = {name: disclosure.resolve(value) for name, value in config.headers.items()}
    ours = {name.lower(): value for name, value in run_headers(run).items()}
    return [(name, value.encode()) for name, value in {**theirs, **ours}.items()]


def _value(run: Run, config: KafkaConfig) -> bytes | None:
    """None is a tombstone, which without a key means nothing."""
    if not is_empty(run.payload):
        named = (v for name, v in config.headers.items() if name.lower() == "content-type")
        return payload_bytes(run.payload or b"", next(named, None), config.payload_encoding)
    if config.key is None:
        raise unusable("a record without payload is a tombstone, and needs a key")
    return None
