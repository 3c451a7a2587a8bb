"""The local broker's life: started, stopped, killed and started again on the same data."""

import os
import signal
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tocsin.broker.local.commands import answers
from tocsin.broker.local.errors import LocalBrokerError
from tocsin.broker.local.guarded import Guarded
from tocsin.broker.local.node import Node, new_node
from tocsin.broker.local.ports import is_free
from tocsin.broker.local.readiness import wait_until_usable
from tocsin.broker.local.runtime import Runtime, choose_runtime

START_TIMEOUT_S = 90.0
STOP_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A Kafka cluster that somebody else runs."""

    bootstrap: str


class LocalBroker:
    """One Kafka node that belongs to this process. Not for several threads.

    down ──start──► up ──stop | kill──► down        restart = start on the same data and port
    """

    def __init__(self, node: Node, runtime: Runtime, when_orphaned: list[list[str]]) -> None:
        self._node = node
        self._runtime = runtime
        removal = runtime.removal(node)
        self._when_orphaned = [removal, *when_orphaned] if removal else when_orphaned
        self._process: Guarded | None = None

    @property
    def bootstrap(self) -> str:
        """`host:port`, the same for the whole life."""
        return self._node.bootstrap

    @property
    def log(self) -> Path:
        """What the broker prints."""
        return self._node.log

    def start(self) -> None:
        """Start, and block until usable (3–10 s). Formats the folder the first time.

        Raises LocalBrokerError with the end of the broker's log.
        """
        prepare(self._node, self._runtime)
        process = Guarded(self._runtime.command(self._node), self._node.log, self._when_orphaned)
        self._process = process
        try:
            wait_until_usable(self.bootstrap, process.alive, START_TIMEOUT_S)
        except LocalBrokerError as error:
            self.kill()
            raise LocalBrokerError(f"{error}; {self.log} ends: {self._node.last_words()}") from None

    def stop(self) -> None:
        """Shut down cleanly; blocks for about half a second. Nothing to do if it is down."""
        if self._process is not None and self._process.end(signal.SIGTERM, STOP_TIMEOUT_S):
            self._process = None
        self.kill()

    def kill(self) -> None:
        """End it as `kill -9` does, in mid-write. Nothing to do if it is down."""
        if self._process is None:
            return
        if removal := self._runtime.removal(self._node):
            answers(removal, STOP_TIMEOUT_S)
        self._process.end(signal.SIGKILL, STOP_TIMEOUT_S)
        self._process = None

    def restart(self) -> None:
        """Start again on the same data and port, stopping first what runs."""
        self.stop()
        self.start()


@contextmanager
def local_broker(
    data_dir: Path | None = None,
    port: int | None = None,
    properties: Mapping[str, str] | None = None,
) -> Iterator[LocalBroker]:
    """A running local Kafka, stopped at the end of the block.

    `data_dir` is kept and used again, without it the data is temporary; `port` is fixed, without
    it a free one; `properties` are broker settings that win over `ops/kafka/server.properties`.
    If this process dies, by `kill -9` too, the broker goes with it. Raises LocalBrokerError.
    """
    runtime = choose_runtime()
    with _folder(data_dir) as (folder, when_orphaned):
        node = new_node(folder, port, properties or {}, is_kept=data_dir is not None)
        broker = LocalBroker(node, runtime, when_orphaned)
        try:
            broker.start()
            yield broker
        finally:
            broker.stop()


@contextmanager
def reachable_broker(
    brokers: str | None, data_dir: Path | None = None, port: int | None = None
) -> Iterator[BrokerAddress | LocalBroker]:
    """The cluster at `brokers` (the setting `TOCSIN_BROKERS`) if given, else a local one."""
    if brokers:
        yield BrokerAddress(brokers)
    else:
        with local_broker(data_dir, port) as broker:
            yield broker


def prepare(node: Node, runtime: Runtime) -> None:
    """Make the folder and the port ready for a start. Raises LocalBrokerError."""
    if not is_free(node.port):
        raise LocalBrokerError(
            f"port {node.port} of 127.0.0.1 is in use: end what listens there, or take another port"
        )
    node.write_configuration(runtime.bind_host)
    if not node.formatted:
        runtime.format(node)


@contextmanager
def _folder(data_dir: Path | None) -> Iterator[tuple[Path, list[list[str]]]]:
    """A folder for the data, and what must be done about it if this process dies."""
    if data_dir is not None:
        yield data_dir, []
        return
    with tempfile.TemporaryDirectory(prefix="tocsin-kafka-", ignore_cleanup_errors=True) as folder:
        yield Path(folder), [["rm", "-rf", os.fspath(folder)]]
