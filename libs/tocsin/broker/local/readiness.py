"""When a Kafka node can be used: not when it listens, but when its coordinators answer."""

import socket
import time
from collections.abc import Callable
from uuid import uuid4

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tocsin.broker.local.errors import LocalBrokerError
from tocsin.clock import monotonic_ms

_SLICE_S = 1.0
"""The longest that one question may block before the process is looked at again."""

_PAUSE_S = 0.02

Question = Callable[[], object]


def wait_until_usable(bootstrap: str, alive: Callable[[], bool], timeout_s: float) -> None:
    """Block until `bootstrap` answers metadata, a transaction and a group coordinator.

    Raises LocalBrokerError when `alive()` turns false or the time is up.
    """
    deadline_ms = monotonic_ms() + int(timeout_s * 1_000)

    def until_answered(question: Question, failures: tuple[type[Exception], ...]) -> None:
        while not _answered(question, failures):
            if not alive():
                raise LocalBrokerError("the local Kafka has ended while starting")
            if monotonic_ms() > deadline_ms:
                raise LocalBrokerError(f"the local Kafka is not usable after {timeout_s:.0f} s")
            time.sleep(_PAUSE_S)

    host, port = bootstrap.rsplit(":", 1)
    until_answered(
        lambda: socket.create_connection((host, int(port)), _SLICE_S).close(), (OSError,)
    )
    for question in (_transaction_question(bootstrap), _group_question(bootstrap)):
        until_answered(question, (KafkaException,))


def _answered(question: Question, failures: tuple[type[Exception], ...]) -> bool:
    try:
        question()
    except failures:
        return False
    return True


def _quiet(bootstrap: str) -> dict[str, str | int]:
    # The client reports each refused attempt as an error; while waiting that is the normal case.
    return {"bootstrap.servers": bootstrap, "log_level": 0}


def _transaction_question(bootstrap: str) -> Question:
    producer = Producer({**_quiet(bootstrap), "transactional.id": f"ready-{uuid4()}"})
    return lambda: producer.init_transactions(_SLICE_S)


def _group_question(bootstrap: str) -> Question:
    consumer = Consumer({**_quiet(bootstrap), "group.id": "tocsin-readiness"})
    return lambda: consumer.committed([TopicPartition("none", 0)], timeout=_SLICE_S)
