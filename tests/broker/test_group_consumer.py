"""What the client does in the middle of a call, which no broker can be made to do at will."""

from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import pytest

from tests.broker.listeners import Recorder
from tocsin.broker.kafka.members import KafkaGroupConsumer

TOPIC = "runs"


class Message:
    """A record as the client hands it out."""

    def __init__(self, partition: int, offset: int) -> None:
        self._partition = partition
        self._offset = offset

    def error(self) -> None:
        return None

    def headers(self) -> None:
        return None

    def key(self) -> bytes:
        return b"k"

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return (2, 0)

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset


class Client:
    """Answers the first `poll` by assigning two partitions. Later ones bring a record of each, and
    between the two whatever a test wants to happen."""

    def __init__(self, conf: dict[str, Any]) -> None:
        self.in_between: Callable[[Client], None] = lambda client: None
        self.calls: list[tuple[str, list[int]]] = []
        self._told: dict[str, Callable[..., None]] = {}
        self._offset = 0

    def subscribe(self, topics: list[str], **told: Callable[..., None]) -> None:
        self._told = told

    def tell(self, what: str, *partitions: int) -> None:
        self._told[what](self, [ck.TopicPartition(TOPIC, number) for number in partitions])

    def poll(self, timeout: float) -> Message | None:
        if not self.calls:
            self.tell("on_assign", 0, 1)
            return None
        self._offset += 1
        return Message(0, self._offset)

    def consume(self, most: int, timeout: float) -> list[Message]:
        self.in_between(self)
        return [Message(1, self._offset)][:most]

    def incremental_assign(self, partitions: list[ck.TopicPartition]) -> None:
        self.calls.append(("assign", sorted(place.partition for place in partitions)))

    def incremental_unassign(self, partitions: list[ck.TopicPartition]) -> None:
        self.calls.append(("unassign", sorted(place.partition for place in partitions)))


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client({})
    monkeypatch.setattr(ck, "Consumer", lambda conf: made)
    return made


@pytest.fixture
def consumer(client: Client) -> KafkaGroupConsumer:
    consumer = KafkaGroupConsumer({})
    consumer.subscribe([TOPIC], Recorder())
    assert consumer.poll_batch(10, 0) == []
    return consumer


def read(consumer: KafkaGroupConsumer) -> list[int]:
    return [record.partition for record in consumer.poll_batch(10, 0)]


def test_what_is_held_is_read(consumer: KafkaGroupConsumer) -> None:
    assert read(consumer) == [0, 1]


@pytest.mark.parametrize("how", ["on_revoke", "on_lost"])
@pytest.mark.parametrize("gone", [0, 1])
def test_what_was_read_of_a_partition_that_goes_meanwhile_is_left_out(
    client: Client, consumer: KafkaGroupConsumer, how: str, gone: int
) -> None:
    client.in_between = lambda client: client.tell(how, gone)
    assert read(consumer) == [1 - gone]
    assert client.calls == [("assign", [0, 1]), ("unassign", [gone])]


def test_a_partition_that_goes_and_comes_back_meanwhile_is_read_from_what_was_committed(
    client: Client, consumer: KafkaGroupConsumer
) -> None:
    def go_and_come(client: Client) -> None:
        client.tell("on_revoke", 0)
        client.tell("on_assign", 0)

    client.in_between = go_and_come
    assert read(consumer) == [1]
    assert client.calls[-2:] == [("unassign", [0]), ("assign", [0])]
    client.in_between = lambda client: None
    assert read(consumer) == [0, 1]
