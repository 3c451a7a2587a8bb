"""Keeps the directory of tokens up with the topic that has them."""

import logging
from collections.abc import Callable
from threading import Event

from tocsin.broker.errors import BrokerError, Die
from tocsin.broker.port import Cluster, LogReader, Record, TopicPartition
from tocsin.broker.refused import log_refused
from tocsin.wire.codec import TOKEN, WireError
from tocsin.wire.topics import Topics
from tocsin_gateway.access.tokens import TokenDirectory

log = logging.getLogger(__name__)

_BATCH = 1_000
_TIMEOUT_S = 10.0
_PAUSE_S = 1.0


class TokenReader:
    """One thread's work: `open`, then `step` again and again; `run` does both."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Topics,
        directory: TokenDirectory,
        refused: Callable[[str], None],
    ) -> None:
        """`refused` is told the topic of each record that cannot be read."""
        self._cluster = cluster
        self._topic = topics.access
        self._directory = directory
        self._refused = refused
        self._reader: LogReader | None = None
        self._behind: set[TopicPartition] = set()

    def run(self, stop: Event) -> None:
        """Until `stop` is set. Raises `Die`: what does not pass by itself."""
        try:
            while not stop.is_set():
                self._run_once(stop)
        finally:
            self.close()

    def _run_once(self, stop: Event) -> None:
        try:
            if self._reader is None:
                self.open()
            self.step(0.5)
        except Die:
            raise
        except BrokerError as error:
            log.warning("reading the tokens again: %s", error, extra={"action": "tokens_again"})
            self.close()
            stop.wait(_PAUSE_S)

    def open(self) -> None:
        """Read from the beginning; what is known stays known. Raises `BrokerError`s, of which
        `Die` where the topic is missing."""
        found = self._cluster.topics([self._topic], _TIMEOUT_S)
        if self._topic not in found:
            raise Die(f"this topic is missing: {self._topic}; `tocsin topics apply`")
        places = [TopicPartition(self._topic, n) for n in range(found[self._topic].partitions)]
        self._reader = self._cluster.log_reader(is_patient=True)
        self._reader.assign(self._reader.begin_offsets(places, _TIMEOUT_S))
        self._behind = set(places)

    def step(self, timeout: float) -> None:
        """Read one batch, waiting for it at most `timeout` seconds. Raises `BrokerError`s."""
        if self._reader is None:
            raise RuntimeError("open the reader first")
        for record in self._reader.poll_batch(_BATCH, timeout):
            self._learn(record)
        self._behind -= self._reader.take_ends().keys()
        if not self._behind:
            self._directory.complete = True

    def close(self) -> None:
        """Stop reading; `open` may follow."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _learn(self, record: Record) -> None:
        """A record that cannot be read lets nobody in."""
        digest = (record.key or b"").decode("ascii", "replace")
        try:
            token = None if record.value is None else TOKEN.decode(record.value)
        except WireError as error:
            log_refused(record, error)
            self._refused(record.topic)
            token = None
        self._directory.put(digest, token, record.offset)
