"""What callers meet when the broker dies under them, and when it is back."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.broker.listeners import Recorder
from tests.broker.worlds import PATIENCE, World, kafka_world, opened, read, until, values
from tocsin.broker.errors import Fenced, OutcomeUnknown, Retry
from tocsin.broker.local import LocalBroker
from tocsin.broker.port import GroupConsumer, Isolation, TopicPartition
from tocsin.broker.reading import read_to_end

pytestmark = [pytest.mark.kafka, pytest.mark.faults]


@pytest.fixture
def world(own_broker: LocalBroker, prefix: str) -> Iterator[World]:
    with opened(kafka_world(own_broker.bootstrap, prefix)) as world:
        yield world


def test_a_commit_without_an_answer_is_unknown_and_fencing_decides_it(
    world: World, own_broker: LocalBroker
) -> None:
    place = world.place()
    name = world.new_name("tx")
    producer = world.transactional(name)
    producer.begin()
    for value in (b"a", b"b"):
        producer.produce(place.topic, b"k", value, place.partition)
    producer.flush(PATIENCE)
    own_broker.kill()
    with pytest.raises(OutcomeUnknown):
        producer.commit(1.0)
    producer.close()
    own_broker.restart()
    world.cluster.fence(name, PATIENCE)
    ends = world.reader(Isolation.UNCOMMITTED).end_offsets([place], PATIENCE)
    batches = read_to_end(world.reader(), {place: 0}, through=ends)
    assert values([r for batch in batches for r in batch]) in ([], [b"a", b"b"])


def test_readers_producers_and_members_go_on_when_the_broker_is_back(
    world: World, own_broker: LocalBroker
) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    reader, producer = world.reader(), world.producer()
    consumer, heard = world.consumer(), Recorder()
    consumer.subscribe([topic], heard)
    reader.assign({place: 0})
    producer.send(topic, b"k", b"before")
    assert values(read(reader, 1)) == values(read(consumer, 1)) == [b"before"]
    consumer.commit({place: 1})
    own_broker.kill()
    report = producer.send(topic, b"k", b"during")
    assert producer.flush(0.5) == 1
    assert reader.poll_batch(10, 0.2) == []
    own_broker.restart()
    assert producer.flush(PATIENCE) == 0
    assert report.result().offset == 1
    assert values(read(reader, 1)) == values(read(consumer, 1)) == [b"during"]
    assert heard.held == {place}
    until(lambda: _commits(consumer, {place: 2}), lambda: consumer.poll_batch(1, 0.1))


def test_a_new_process_finds_everything_after_a_restart(
    world: World, own_broker: LocalBroker
) -> None:
    place = world.place()
    world.write(place, b"a")
    own_broker.kill()
    own_broker.restart()
    with closing(world.cluster.log_reader()) as reader:
        assert values([r for batch in read_to_end(reader, {place: 0}) for r in batch]) == [b"a"]


def _commits(consumer: GroupConsumer, offsets: dict[TopicPartition, int]) -> bool:
    """Whether a commit goes through by now."""
    try:
        consumer.commit(offsets)
    except (Retry, Fenced):
        return False
    return True
