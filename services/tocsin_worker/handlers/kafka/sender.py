"""A producer, and the thread that serves its reports."""

import logging
from concurrent.futures import Future
from threading import Event, Thread

from tocsin.broker.errors import BrokerError, Die, Retry
from tocsin.broker.port import Cluster, Delivered, Headers
from tocsin_worker.handlers.kafka.config import KafkaConfig
from tocsin_worker.handlers.kafka.partitions import needs_count, partition_for
from tocsin_worker.threads import pool

LOG = logging.getLogger(__name__)

_THREADS = 8
_POLL_SECONDS = 0.1
_REQUEST_SECONDS = 10.0
_FLUSH_SECONDS = 2.0


class Sender:
    """For one cluster. `send` may be called from several threads; `threads` are for that alone, so
    that a cluster that does not answer holds up no other."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._producer = cluster.producer()
        self._counts: dict[str, int] = {}
        self._stopping = Event()
        self.threads = pool("kafka", _THREADS)
        self.trouble: BrokerError | None = None
        """Why this sender is of no more use; what it had in hand is unknown."""
        self._thread = Thread(target=self._serve, name="kafka-handler", daemon=True)
        self._thread.start()

    def send(
        self, config: KafkaConfig, value: bytes | None, headers: Headers
    ) -> "Future[Delivered]":
        """Acknowledged by all in-sync replicas when it is done; fails with a `BrokerError`. May
        block for seconds, and raise one, where the cluster has to be asked about the topic."""
        if self._stopping.is_set():
            raise Retry("the worker is stopping")
        count = self._count(config.topic) if needs_count(config) else 0
        key = None if config.key is None else config.key.encode()
        return self._producer.send(config.topic, key, value, partition_for(config, count), headers)

    def close(self) -> None:
        """What is on its way is waited for, briefly. May be called twice."""
        self._stopping.set()
        self._thread.join()
        self.threads.shutdown(wait=False)

    def _count(self, topic: str) -> int:
        """Remembered: a topic that grows is noticed by the next worker process."""
        count = self._counts.get(topic)
        if count is None:
            info = self._cluster.topics([topic], _REQUEST_SECONDS).get(topic)
            if info is None:
                raise Die("there is no such topic").at(topic)
            count = self._counts[topic] = info.partitions
        return count

    def _serve(self) -> None:
        try:
            while not self._stopping.is_set():
                self._producer.poll(_POLL_SECONDS)
            self._producer.flush(_FLUSH_SECONDS)
        except BrokerError as error:
            self.trouble = error
            LOG.warning("kafka handler: %s", error, extra={"action": "kafka_handler_failed"})
        finally:
            self._producer.close()
