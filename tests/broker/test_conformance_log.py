"""What any log behind the port does with single records and their readers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.broker.worlds import PATIENCE, World, read, until, values
from tocsin.broker.errors import BrokerError, Die, Rebuild, RecordRefused
from tocsin.broker.port import MAX_RECORD_BYTES, Delivered, LogReader, Record, TopicPartition
from tocsin.broker.reading import read_to_end
from tocsin.wire.partitions import partition_of


def test_a_record_is_read_as_it_was_written_at_the_place_its_report_names(world: World) -> None:
    topic = world.topic(partitions=3)
    headers = [("a", b"1"), ("a", b"2"), ("empty", b"")]
    producer, reader = world.producer(), world.reader()
    report = producer.send(topic, b"key", b"value", partition=2, headers=headers)
    producer.flush(PATIENCE)
    reader.assign({TopicPartition(topic, 2): 0})
    record = read(reader, 1)[0]
    assert record == Record(topic, 2, 0, record.timestamp, b"key", b"value", headers)
    assert report.result() == Delivered(topic, 2, 0, record.timestamp)


def test_keys_and_values_may_be_missing(world: World) -> None:
    place = world.place()
    producer, reader = world.producer(), world.reader()
    producer.produce(place.topic, b"k", None)
    producer.produce(place.topic, None, b"v")
    producer.flush(PATIENCE)
    reader.assign({place: 0})
    assert [(r.key, r.value, r.headers) for r in read(reader, 2)] == [
        (b"k", None, []),
        (None, b"v", []),
    ]


def test_keys_go_to_the_partitions_that_java_would_choose(world: World) -> None:
    topic = world.topic(partitions=7)
    producer = world.producer()
    keys = [f"default/job-{n}".encode() for n in range(40)]
    reports = [producer.send(topic, key, b"v") for key in keys]
    producer.flush(PATIENCE)
    assert [r.result().partition for r in reports] == [partition_of(key, 7) for key in keys]


def test_a_callback_hears_of_its_record_once(world: World) -> None:
    place = world.place()
    heard: list[Delivered | BrokerError] = []
    producer = world.producer()
    producer.produce(place.topic, b"k", b"v", on_delivery=heard.append)
    assert producer.flush(PATIENCE) == 0
    producer.poll(0)
    (delivered,) = heard
    assert isinstance(delivered, Delivered)
    assert delivered[:3] == (*place, 0)


def test_a_record_that_is_too_large_is_refused_and_others_are_not(world: World) -> None:
    place = world.place()
    producer = world.producer()
    with pytest.raises(RecordRefused, match=place.topic):
        producer.produce(place.topic, b"k", bytes(MAX_RECORD_BYTES + 1))
    producer.produce(place.topic, b"k", b"v")
    assert producer.flush(PATIENCE) == 0


def test_a_compacted_topic_refuses_a_record_without_a_key(world: World) -> None:
    topic = world.topic(compacted=True)
    producer = world.producer()
    refused = producer.send(topic, None, b"v")
    producer.flush(PATIENCE)
    assert isinstance(refused.exception(), RecordRefused)
    written = producer.send(topic, b"k", b"v")
    producer.flush(PATIENCE)
    assert written.result().topic == topic


def test_reading_starts_where_it_is_told_to(world: World) -> None:
    place = world.place()
    world.write(place, b"0", b"1", b"2")
    reader = world.reader()
    reader.assign({place: 1})
    assert values(read(reader, 2)) == [b"1", b"2"]
    assert reader.position(place) == 3


def test_assigning_anew_goes_back_and_returns_nothing_from_before(world: World) -> None:
    place = world.place()
    world.write(place, *(b"%d" % n for n in range(100)))
    reader = world.reader()
    reader.assign({place: 0})
    until(lambda: bool(reader.poll_batch(10, 0.1)), lambda: None)
    reader.assign({place: 5})
    assert reader.position(place) == 5
    assert values(read(reader, 95))[0] == b"5"


def test_more_partitions_are_read_beside_those_already_read(world: World) -> None:
    first, second = world.place(), world.place()
    world.write(first, b"a", b"b")
    world.write(second, b"c")
    reader = world.reader()
    reader.assign({first: 0})
    read(reader, 2)
    reader.assign({second: 0})
    assert values(read(reader, 1)) == [b"c"]
    world.write(first, b"d")
    assert values(read(reader, 1)) == [b"d"]


def test_an_unassigned_partition_is_silent(world: World) -> None:
    gone, here = world.place(), world.place()
    world.write(gone, b"a")
    reader = world.reader()
    reader.assign({gone: 0, here: 0})
    reader.unassign([gone])
    world.write(here, b"b")
    assert values(read(reader, 1)) == [b"b"]
    assert gone not in reader.take_ends()


def test_a_paused_partition_goes_on_where_it_stopped(world: World) -> None:
    place, other = world.place(), world.place()
    world.write(place, b"a")
    reader = world.reader()
    reader.assign({place: 0, other: 0})
    read(reader, 1)
    reader.pause([place])
    world.write(place, b"b")
    world.write(other, b"c")
    assert values(read(reader, 1)) == [b"c"]
    reader.resume([place])
    assert values(read(reader, 1)) == [b"b"]


def test_an_end_is_met_once_until_it_moves(world: World) -> None:
    place = world.place()
    world.write(place, b"a", b"b")
    reader = world.reader()
    reader.assign({place: 0})
    assert _next_end(reader, place) == 2
    assert reader.poll_batch(10, 0.1) == []
    assert reader.take_ends() == {}
    world.write(place, b"c")
    assert _next_end(reader, place) == 3


def test_an_end_is_met_again_after_going_back(world: World) -> None:
    place = world.place()
    world.write(place, b"a")
    reader = world.reader()
    for _ in range(3):
        assert values([r for batch in read_to_end(reader, {place: 0}) for r in batch]) == [b"a"]


def test_an_empty_partition_is_at_its_end(world: World) -> None:
    place = world.place()
    reader = world.reader()
    assert list(read_to_end(reader, {place: 0})) == []


def test_an_offset_beyond_the_log_means_rebuild_and_hurts_nobody_else(world: World) -> None:
    place, sound = world.place(), world.place()
    world.write(place, b"a")
    world.write(sound, b"b")
    reader = world.reader()
    reader.assign({place: 7, sound: 0})
    seen: list[bytes | None] = []
    with pytest.raises(Rebuild) as caught:
        until(lambda: False, lambda: seen.extend(values(reader.poll_batch(10, 0.1))))
    assert (caught.value.topic, caught.value.partition) == place
    until(lambda: b"b" in seen, lambda: seen.extend(values(reader.poll_batch(10, 0.1))))
    reader.assign({place: 0})
    assert values(read(reader, 1)) == [b"a"]


def test_errors_of_a_partition_no_longer_read_are_nobodys_business(world: World) -> None:
    broken, alike = world.place(), world.place()
    reader = world.reader()
    reader.assign({broken: 7, alike: 7})
    with pytest.raises(Rebuild):
        until(lambda: False, lambda: reader.poll_batch(10, 0.1))
    reader.assign({broken: 0})
    reader.unassign([alike])
    assert _next_end(reader, broken) == 0


def test_what_retention_has_deleted_means_rebuild(world: World) -> None:
    place = world.place()
    world.write(place, b"a", b"b", b"c")
    world.admin.truncate(place, 2)
    reader = world.reader()
    assert reader.begin_offsets([place], PATIENCE) == {place: 2}
    assert reader.end_offsets([place], PATIENCE) == {place: 3}
    reader.assign({place: 1})
    with pytest.raises(Rebuild):
        until(lambda: False, lambda: reader.poll_batch(10, 0.1))
    reader.assign({place: 2})
    assert values(read(reader, 1)) == [b"c"]


def test_a_missing_topic_is_named(world: World) -> None:
    missing = TopicPartition(world.new_name("missing"), 0)
    reader = world.reader()
    reader.assign({missing: 0})
    with pytest.raises(Die, match=missing.topic):
        until(lambda: False, lambda: reader.poll_batch(10, 0.1))


def test_topics_are_described_if_they_exist(world: World) -> None:
    topic, other = world.topic(partitions=3), world.topic()
    missing = world.new_name("missing")
    described = world.cluster.topics([topic, other, missing], PATIENCE)
    assert {name: info.partitions for name, info in described.items()} == {topic: 3, other: 1}
    assert described[topic].topic_id != described[other].topic_id
    assert world.cluster.topics([], PATIENCE) == {}
    assert world.cluster.cluster_id(PATIENCE) == world.cluster.cluster_id(PATIENCE) != ""


def test_existing_topics_are_listed(world: World) -> None:
    topic, missing = world.topic(), world.new_name("missing")
    names = world.cluster.topic_names(PATIENCE)
    assert topic in names
    assert missing not in names


def test_an_instant_is_found_in_the_log(world: World) -> None:
    place, other, empty = world.place(), world.place(), world.place()
    world.write(place, b"a", b"b")
    reader = world.reader()
    reader.assign({place: 0})
    first, last = read(reader, 2)
    world.write(other, b"c")
    reader.assign({other: 0})
    (other_first,) = read(reader, 1)
    assert reader.offsets_since({place: first.timestamp}, PATIENCE) == {place: 0}
    later = last.timestamp + 1
    assert reader.offsets_since({place: later, empty: later}, PATIENCE) == {place: 2, empty: 0}
    asked = {place: later, empty: first.timestamp, other: other_first.timestamp}
    assert reader.offsets_since(asked, PATIENCE) == {place: 2, empty: 0, other: 0}


def test_nothing_is_committed_at_first(world: World) -> None:
    place = world.place()
    assert world.reader().committed([place], PATIENCE) == {place: (None, "")}


@given(st.binary(max_size=40), st.integers(1, 64))
def test_the_chosen_partition_exists(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions


def _next_end(reader: LogReader, place: TopicPartition) -> int:
    met: dict[TopicPartition, int] = {}

    def step() -> None:
        reader.poll_batch(10, 0.1)
        met.update(reader.take_ends())

    until(lambda: place in met, step)
    return met[place]
