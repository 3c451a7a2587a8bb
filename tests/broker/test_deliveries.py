"""What a producer makes of the client's reports."""

import confluent_kafka as ck
import pytest

from tocsin.broker.errors import BrokerError
from tocsin.broker.kafka import producers
from tocsin.broker.port import Delivered


class Acknowledged:
    """The client's message of a repeated send that the brokers had already: they do not say where
    it stands."""

    def topic(self) -> str:
        return "jobs"

    def partition(self) -> int:
        return 3

    def offset(self) -> None:
        return None

    def timestamp(self) -> tuple[int, int]:
        return ck.TIMESTAMP_CREATE_TIME, 1_790_000_000_000


def test_a_record_that_the_brokers_had_already_is_delivered_nobody_knows_where() -> None:
    told: list[Delivered | BrokerError] = []
    producers._report(told.append, None, Acknowledged())  # type: ignore[arg-type]
    assert told == [Delivered("jobs", 3, None, 1_790_000_000_000)]


@pytest.mark.parametrize("kind", [ck.TIMESTAMP_LOG_APPEND_TIME, ck.TIMESTAMP_CREATE_TIME])
def test_it_says_nothing_of_the_brokers_clock(kind: int) -> None:
    producer = producers.KafkaTransactionalProducer({"bootstrap.servers": "127.0.0.1:1"})
    message = Acknowledged()
    message.timestamp = lambda: (kind, -1)  # type: ignore[method-assign]
    producer._note(None, message)  # type: ignore[arg-type]
    assert producer.last_append is None
    producer.close()
