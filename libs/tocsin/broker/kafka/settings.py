"""Settings of the Kafka clients: ours, what the operator adds, and what nobody may change.

Each role's conf is `defaults | operator's properties | rules`. The defaults are measured or
reasoned beside them; the rules are what the protocol of Tocsin rests on.
"""

from collections.abc import Mapping
from typing import Any, Final

from tocsin.broker.kafka.logs import ClientLog
from tocsin.broker.port import LINGER_MS, MAX_RECORD_BYTES

Properties = Mapping[str, str | int | float | bool]
Conf = dict[str, Any]  # librdkafka's properties, and callables among them

SESSION_TIMEOUT_MS = 6_000
MAX_POLL_INTERVAL_MS = 30_000
TRANSACTION_TIMEOUT_MS = 10_000

_COMMON: Properties = {
    "socket.keepalive.enable": True,
    "socket.nagle.disable": True,
    # The longest a call without a time-out of its own can wait for an answer.
    "socket.timeout.ms": 10_000,
    # A broker that is back after a restart is noticed within a second.
    "reconnect.backoff.max.ms": 1_000,
    # A topic just made may be unknown to a broker for a moment; after this it counts as missing.
    "topic.metadata.propagation.max.ms": 5_000,
    "log.connection.close": False,
    "enable.metrics.push": False,
}
_COMMON_RULES: Properties = {"allow.auto.create.topics": False}

_CONSUMER: Properties = {
    # An empty fetch is answered after this long, and holds up everything behind it: the news that
    # a partition has ended, the first fetch of one just assigned or resumed.
    "fetch.wait.max.ms": 20,
    "fetch.error.backoff.ms": 100,
    # Small queues, so that memory does not grow with the log; refilled at once, not after 1 s.
    "queued.min.messages": 10_000,
    "queued.max.messages.kbytes": 4_096,
    "fetch.queue.backoff.ms": 5,
    # Compressed; a fetch of 16 MiB of runs took half a gigabyte (a rebuild of ten million).
    "fetch.max.bytes": 4 * 1024 * 1024,
    "fetch.message.max.bytes": MAX_RECORD_BYTES,
}
# For topics that are followed, of which little comes: idle readers are most of what a quiet
# broker has to do.
_PATIENT: Properties = {**_CONSUMER, "fetch.wait.max.ms": 200}
_CONSUMER_RULES: Properties = {
    **_COMMON_RULES,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "check.crcs": True,
}
_MEMBER: Properties = {
    **_CONSUMER,
    "session.timeout.ms": SESSION_TIMEOUT_MS,
    # A rebalance reaches each member with its next heartbeat.
    "heartbeat.interval.ms": 500,
    "max.poll.interval.ms": MAX_POLL_INTERVAL_MS,
}
_MEMBER_RULES: Properties = {
    **_CONSUMER_RULES,
    "group.protocol": "classic",
    "partition.assignment.strategy": "cooperative-sticky",
}
_OF_CLASSIC_GROUPS = frozenset({"session.timeout.ms", "heartbeat.interval.ms"})
"""An operator's choice for the other groups; for share groups it is the brokers'."""

_PRODUCER: Properties = {
    "linger.ms": LINGER_MS,
    "compression.type": "lz4",
    "message.max.bytes": MAX_RECORD_BYTES,
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 128 * 1024,
    # The time after which a record is given up; its report is `OutcomeUnknown`.
    "message.timeout.ms": 60_000,
}
_PRODUCER_RULES: Properties = {
    **_COMMON_RULES,
    "acks": "all",
    "enable.idempotence": True,
    "partitioner": "murmur2_random",
}
_TRANSACTIONAL: Properties = {
    **_PRODUCER,
    "message.timeout.ms": TRANSACTION_TIMEOUT_MS,
    "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
    # Each transaction meets CONCURRENT_TRANSACTIONS once; the default would cost it 100 ms.
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
}


class ClientSettings:
    """The confs of all clients of one process to one cluster."""

    def __init__(self, bootstrap: str, properties: Properties, client_id: str) -> None:
        """`properties` are librdkafka's, such as `security.protocol`, for every client."""
        self._ours: Conf = {
            "bootstrap.servers": bootstrap,
            "client.id": client_id,
            "logger": ClientLog(),
        }
        self._properties = properties
        self.bootstrap: Final = bootstrap

    def admin(self) -> Conf:
        return self._merge({}, _COMMON_RULES)

    def reader(
        self, group: str, isolation: str, *, is_patient: bool = False, min_bytes: int = 1
    ) -> Conf:
        rules = {
            **_CONSUMER_RULES,
            # A consumer has to name a group; only `committed()` of a named one asks for it.
            "group.id": group or "tocsin.readers",
            "isolation.level": isolation,
            "auto.offset.reset": "error",
        }
        defaults = {**(_PATIENT if is_patient else _CONSUMER), "fetch.min.bytes": min_bytes}
        return self._merge(defaults, rules)

    def member(self, group: str, instance_id: str | None, isolation: str) -> Conf:
        identity = {} if instance_id is None else {"group.instance.id": instance_id}
        rules = {
            **_MEMBER_RULES,
            **identity,
            "group.id": group,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
        }
        return self._merge(_MEMBER, rules)

    def share(self, group: str, max_records: int) -> Conf:
        rules: Properties = {
            "group.id": group,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": max_records,
            # A member polls when it has room for more, however long that takes.
            "max.poll.interval.ms": 86_400_000,
        }
        conf = self._merge({}, rules)
        return {name: value for name, value in conf.items() if name not in _OF_CLASSIC_GROUPS}

    def producer(self, linger_ms: int = LINGER_MS) -> Conf:
        return self._merge({**_PRODUCER, "linger.ms": linger_ms}, _PRODUCER_RULES)

    def transactional(self, transactional_id: str) -> Conf:
        return self._merge(
            _TRANSACTIONAL, {**_PRODUCER_RULES, "transactional.id": transactional_id}
        )

    def _merge(self, defaults: Properties, rules: Properties) -> Conf:
        return {**_COMMON, **defaults, **self._properties, **rules, **self._ours}
