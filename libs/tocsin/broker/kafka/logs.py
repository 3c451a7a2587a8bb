"""What the Kafka client says aside: to the log, or to the next call where it will not pass."""

import logging
from collections import deque
from collections.abc import Collection

from confluent_kafka import KafkaError

from tocsin import clock
from tocsin.broker.errors import BrokerError, Die
from tocsin.broker.kafka.translate import translate
from tocsin.broker.port import TopicPartition

LOG = logging.getLogger("tocsin.broker.kafka")
REPEAT_MS = 10_000

# Properties that this kind of client has no use for; failed connections, which `error_cb` tells.
_TOLD_OTHERWISE = frozenset({"CONFWARN", "FAIL"})


class ClientLog:
    """What librdkafka wants for a logger. Its own 'critical' is a fenced producer, which the
    caller hears of as an exception: nothing here is graver than a warning."""

    def log(self, level: int, template: str, facility: str, client: str, message: str) -> None:
        level = logging.DEBUG if facility in _TOLD_OTHERWISE else min(level, logging.WARNING)
        LOG.log(level, template, facility, client, message, extra={"action": "kafka_client_log"})


class PendingErrors:
    """Errors that came between the caller's calls, or in the place of a record."""

    def __init__(self) -> None:
        self._errors: deque[BrokerError] = deque()
        self._told: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._errors)

    def add(self, error: BrokerError) -> None:
        self._errors.append(error)

    def forget(self, partitions: Collection[TopicPartition]) -> None:
        """Drop what concerns these only."""
        gone = set(partitions)
        self._errors = deque(e for e in self._errors if (e.topic, e.partition) not in gone)

    def raise_first(self) -> None:
        """Raises the oldest, if there is one; the others wait for the next time."""
        if self._errors:
            raise self._errors.popleft()

    def error_cb(self, error: KafkaError) -> None:
        """For the client: what does not pass by itself (credentials, a missing topic) is kept;
        the rest is told, mostly connections that fail, and the client goes on trying."""
        self._tell(error)
        translated = translate(error, "go on")
        if isinstance(translated, Die):
            self.add(translated)

    def _tell(self, error: KafkaError) -> None:
        """A warning, and its repetitions within 10 s for those who debug."""
        now = clock.monotonic_ms()
        again = now - self._told.get(error.code(), -REPEAT_MS) < REPEAT_MS
        if not again:
            self._told[error.code()] = now
        LOG.log(
            logging.DEBUG if again else logging.WARNING,
            "kafka client: %s (%s)",
            error.str(),
            error.name(),
            extra={"action": "kafka_client_error"},
        )
