"""What any log behind the port does with transactions, fencing and the offsets inside them."""

import pytest

from tests.broker.listeners import Recorder
from tests.broker.worlds import PATIENCE, World, poll_all, read, until, values
from tocsin.broker.errors import BrokerUnreachable, Fenced, RecordRefused, StaleGeneration
from tocsin.broker.port import (
    MAX_METADATA_BYTES,
    AppendTime,
    GroupMember,
    Isolation,
    Record,
    TopicPartition,
    TransactionalProducer,
)
from tocsin.broker.reading import read_to_end


def test_a_transaction_is_read_whole_once_it_is_committed(world: World) -> None:
    topic = world.topic(partitions=2)
    places = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
    producer = world.transactional()
    producer.begin()
    for place in places:
        producer.produce(topic, b"k", b"v", place.partition)
    producer.flush(PATIENCE)
    assert _visible(world, *places) == []
    producer.commit(PATIENCE)
    assert len(_all(world, *places)) == 2


def test_an_uncommitted_reader_sees_what_is_open(world: World) -> None:
    place = world.place()
    producer = world.transactional()
    _write_open(producer, place, b"open")
    reader = world.reader(Isolation.UNCOMMITTED)
    reader.assign({place: 0})
    assert values(read(reader, 1)) == [b"open"]
    producer.abort(PATIENCE)


def test_an_open_transaction_holds_back_what_others_write_behind_it(world: World) -> None:
    place = world.place()
    world.write(place, b"before")
    producer = world.transactional()
    _write_open(producer, place, b"open")
    world.write(place, b"behind")
    assert _visible(world, place) == [b"before"]
    assert world.reader().end_offsets([place], PATIENCE) == {place: 1}
    assert world.reader(Isolation.UNCOMMITTED).end_offsets([place], PATIENCE) == {place: 3}
    producer.commit(PATIENCE)
    assert values(_all(world, place)) == [b"before", b"open", b"behind"]


def test_offsets_have_holes_where_transactions_ended_or_were_aborted(world: World) -> None:
    place = world.place()
    producer = world.transactional()
    _commit(producer, place, b"0")
    world.write_aborted(place, b"2", b"3")
    _commit(producer, place, b"5")
    assert [(r.offset, r.value) for r in _all(world, place)] == [(0, b"0"), (5, b"5")]


def test_reading_to_the_end_passes_a_tail_of_aborted_records(world: World) -> None:
    place = world.place()
    world.write(place, b"a")
    world.write_aborted(place, b"b", b"c")
    world.write_aborted(place, b"d")
    assert values(_all(world, place)) == [b"a"]
    assert world.reader().end_offsets([place], PATIENCE) == {place: 6}


def test_reading_to_the_end_passes_what_compaction_has_emptied(world: World) -> None:
    place = TopicPartition(world.topic(compacted=True), 0)
    world.write(place, b"old", b"new")
    producer = world.producer()
    producer.produce(place.topic, b"k", None)
    producer.flush(PATIENCE)
    reader, aborting = world.reader(), world.transactional()

    def step() -> None:
        """The newest segment is never compacted, and only a write begins another."""
        _write_open(aborting, place, b"never")
        aborting.abort(PATIENCE)
        world.admin.compact(place.topic)

    until(lambda: list(read_to_end(reader, {place: 0})) == [], step)
    assert reader.begin_offsets([place], PATIENCE) == {place: 0}
    assert reader.end_offsets([place], PATIENCE)[place] >= 5


def test_the_position_at_an_end_is_the_end_even_behind_aborted_records(world: World) -> None:
    place = world.place()
    world.write_aborted(place, b"b", b"c")
    reader = world.reader()
    reader.assign({place: 0})
    until(lambda: reader.position(place) == 3, lambda: reader.poll_batch(10, 0.1))
    assert reader.take_ends() == {place: 3}


def test_offsets_travel_with_the_transaction_and_carry_metadata(world: World) -> None:
    topic = world.topic()
    place, sibling = TopicPartition(topic, 0), world.place()
    member = _joined(world, topic)
    producer, reader = world.transactional(), world.reader()
    producer.begin()
    producer.produce(topic, b"k", b"v", 0)
    producer.flush(PATIENCE)
    offsets = {place: (17, "v1 w=ä o=me"), sibling: (4, "")}
    producer.send_offsets(offsets, member.group_metadata(), PATIENCE)
    producer.commit(PATIENCE)
    assert reader.committed([place, sibling], PATIENCE) == offsets


def test_offsets_of_an_aborted_transaction_are_forgotten(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    member = _joined(world, topic)
    producer = world.transactional()
    _commit_offset(producer, member, place, 1, "first")
    producer.begin()
    producer.send_offsets({place: (2, "second")}, member.group_metadata(), PATIENCE)
    producer.abort(PATIENCE)
    assert world.reader().committed([place], PATIENCE) == {place: (1, "first")}


def test_while_offsets_are_pending_only_an_uncommitted_reader_is_answered(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    member = _joined(world, topic)
    producer = world.transactional()
    _commit_offset(producer, member, place, 1, "owner=first")
    producer.begin()
    producer.send_offsets({place: (2, "owner=second")}, member.group_metadata(), PATIENCE)
    stable, hasty = world.reader(), world.reader(Isolation.UNCOMMITTED)
    assert hasty.committed([place], PATIENCE) == {place: (1, "owner=first")}
    with pytest.raises(BrokerUnreachable):
        stable.committed([place], 0.5)
    producer.commit(PATIENCE)
    assert stable.committed([place], PATIENCE) == {place: (2, "owner=second")}


def test_a_stale_generation_is_refused_and_the_transaction_can_be_undone(world: World) -> None:
    topic = world.topic(partitions=2)
    place = TopicPartition(topic, 0)
    member = _joined(world, topic)
    stale = member.group_metadata()
    newcomer, heard = world.member(), Recorder()
    newcomer.join(topic, heard)
    until(lambda: bool(heard.held), lambda: poll_all(member, newcomer))
    producer = world.transactional()
    _write_open(producer, place, b"never seen")
    with pytest.raises(StaleGeneration):
        producer.send_offsets({place: (1, "")}, stale, PATIENCE)
    producer.abort(PATIENCE)
    assert _all(world, place) == []
    assert world.reader().committed([place], PATIENCE) == {place: (None, "")}


def test_the_present_generation_is_accepted_after_a_rebalance(world: World) -> None:
    topic = world.topic(partitions=2)
    place = TopicPartition(topic, 0)
    member = _joined(world, topic)
    newcomer, heard = world.member(), Recorder()
    newcomer.join(topic, heard)
    until(lambda: bool(heard.held), lambda: poll_all(member, newcomer))
    _commit_offset(world.transactional(), newcomer, place, 5, "")
    assert world.reader().committed([place], PATIENCE) == {place: (5, "")}


def test_init_with_the_same_id_aborts_what_is_open_and_fences_its_producer(world: World) -> None:
    place = world.place()
    name = world.new_name("tx")
    old = world.transactional(name)
    _write_open(old, place, b"old")
    new = world.transactional(name)
    assert _all(world, place) == []
    assert world.reader().end_offsets([place], PATIENCE) == {place: 2}
    with pytest.raises(Fenced):
        old.commit(PATIENCE)
    _commit(new, place, b"new")
    assert values(_all(world, place)) == [b"new"]


def test_fence_releases_held_records_and_the_next_call_of_the_owner_fails(world: World) -> None:
    place = world.place()
    name = world.new_name("tx")
    frozen = world.transactional(name)
    _write_open(frozen, place, b"frozen")
    world.write(place, b"behind")
    world.cluster.fence(name, PATIENCE)
    assert values(_all(world, place)) == [b"behind"]
    with pytest.raises(Fenced):
        _finish(frozen, place, b"woken")
    with pytest.raises(Fenced):
        frozen.abort(PATIENCE)
    assert values(_all(world, place)) == [b"behind"]


def test_a_transaction_with_a_refused_record_can_only_be_aborted(world: World) -> None:
    place = TopicPartition(world.topic(compacted=True), 0)
    producer = world.transactional()
    producer.begin()
    producer.produce(place.topic, None, b"no key")
    with pytest.raises(RecordRefused):
        _flush_and_commit(producer)
    producer.abort(PATIENCE)
    _commit(world.transactional(), place, b"next")
    assert values(_all(world, place)) == [b"next"]


def test_a_fenced_producer_cannot_begin_again(world: World) -> None:
    place = world.place()
    name = world.new_name("tx")
    idle = world.transactional(name)
    _commit(idle, place, b"a")
    world.cluster.fence(name, PATIENCE)
    with pytest.raises(Fenced):
        _commit(idle, place, b"b")
    assert values(_all(world, place)) == [b"a"]


def test_fencing_an_id_that_was_never_used_is_harmless(world: World) -> None:
    world.cluster.fence(world.new_name("tx"), PATIENCE)


def test_a_transaction_without_records_commits_its_offsets(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    _commit_offset(world.transactional(), _joined(world, topic), place, 3, "claim")
    assert world.reader().committed([place], PATIENCE) == {place: (3, "claim")}


def test_metadata_has_a_limit(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    member, producer = _joined(world, topic), world.transactional()
    _commit_offset(producer, member, place, 1, "x" * MAX_METADATA_BYTES)
    producer.begin()
    with pytest.raises(RecordRefused):
        producer.send_offsets(
            {place: (2, "x" * (MAX_METADATA_BYTES + 2))}, member.group_metadata(), PATIENCE
        )
    producer.abort(PATIENCE)


def test_the_brokers_clock_comes_with_the_reports(world: World) -> None:
    place = world.place()
    producer = world.transactional()
    assert _seen(producer) is None
    _commit(producer, place, b"a")
    first = _seen(producer)
    assert first is not None
    (record,) = _all(world, place)
    assert first.append_ms == record.timestamp
    _commit(producer, place, b"b")
    second = _seen(producer)
    assert second is not None
    assert second.append_ms >= first.append_ms
    assert second.arrived_ms >= first.arrived_ms


def test_a_transaction_may_hold_thousands_of_records(world: World) -> None:
    topic = world.topic(partitions=4)
    producer = world.transactional()
    producer.begin()
    for n in range(5000):
        producer.produce(topic, b"%d" % n, b"x" * 200)
    producer.flush(PATIENCE)
    producer.commit(PATIENCE)
    assert len(_all(world, *(TopicPartition(topic, p) for p in range(4)))) == 5000


def _joined(world: World, topic: str) -> GroupMember:
    """A lone member that holds all of the topic."""
    member, heard = world.member(), Recorder()
    member.join(topic, heard)
    until(lambda: bool(heard.held), lambda: member.poll(0.05))
    return member


def _seen(producer: TransactionalProducer) -> AppendTime | None:
    return producer.last_append


def _write_open(producer: TransactionalProducer, place: TopicPartition, value: bytes) -> None:
    producer.begin()
    producer.produce(place.topic, b"k", value, place.partition)
    producer.flush(PATIENCE)


def _finish(producer: TransactionalProducer, place: TopicPartition, value: bytes) -> None:
    producer.produce(place.topic, b"k", value, place.partition)
    _flush_and_commit(producer)


def _flush_and_commit(producer: TransactionalProducer) -> None:
    producer.flush(PATIENCE)
    producer.commit(PATIENCE)


def _commit(producer: TransactionalProducer, place: TopicPartition, value: bytes) -> None:
    producer.begin()
    _finish(producer, place, value)


def _commit_offset(
    producer: TransactionalProducer,
    member: GroupMember,
    place: TopicPartition,
    offset: int,
    metadata: str,
) -> None:
    producer.begin()
    producer.send_offsets({place: (offset, metadata)}, member.group_metadata(), PATIENCE)
    producer.commit(PATIENCE)


def _all(world: World, *places: TopicPartition) -> list[Record]:
    """What a committed reader sees once nothing is open any more, in order of offset."""
    ends = world.reader(Isolation.UNCOMMITTED).end_offsets(places, PATIENCE)
    batches = read_to_end(world.reader(), dict.fromkeys(places, 0), through=ends)
    return sorted((r for batch in batches for r in batch), key=lambda r: (r.partition, r.offset))


def _visible(world: World, *places: TopicPartition) -> list[bytes | None]:
    """What a committed reader sees of the log as it is."""
    batches = read_to_end(world.reader(), dict.fromkeys(places, 0))
    return values([r for batch in batches for r in batch])
