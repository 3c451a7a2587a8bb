"""What any log behind the port does with consumer groups."""

import pytest

from tests.broker.listeners import Partitions, Recorder
from tests.broker.worlds import PATIENCE, World, poll_all, read, until, values
from tocsin.broker.errors import Die, Fenced
from tocsin.broker.port import GroupConsumer, GroupMember, TopicPartition


def test_a_lone_member_gets_every_partition(world: World) -> None:
    topic = world.topic(partitions=4)
    member, heard = _member(world, topic)
    until(lambda: len(heard.held) == 4, lambda: member.poll(0.05))
    assert member.assignment() == heard.held == _places(topic, 4)


def test_only_the_partitions_that_move_are_revoked(world: World) -> None:
    topic = world.topic(partitions=4)
    first, first_heard = _member(world, topic)
    until(lambda: len(first_heard.held) == 4, lambda: first.poll(0.05))
    second, second_heard = _member(world, topic)
    until(lambda: len(second_heard.held) == 2, lambda: poll_all(first, second))
    assert first_heard.told("revoke") == second_heard.held
    assert first_heard.held == _places(topic, 4) - second_heard.held
    assert first_heard.told("lost") == set()


def test_a_partition_is_given_up_before_another_member_gets_it(world: World) -> None:
    topic = world.topic(partitions=4)
    order: list[str] = []
    first, first_heard = _member(world, topic, Recorder(lambda _: order.append("given up")))
    until(lambda: len(first_heard.held) == 4, lambda: first.poll(0.05))
    second, second_heard = _member(world, topic)

    def step() -> None:
        poll_all(first, second)
        order.extend(["taken up"] if second_heard.held else [])

    until(lambda: bool(second_heard.held), step)
    assert order[0] == "given up"


def test_who_stays_takes_over_from_who_leaves(world: World) -> None:
    topic = world.topic(partitions=4)
    stays, stays_heard = _member(world, topic)
    leaves, leaves_heard = _member(world, topic)
    until(
        lambda: len(leaves_heard.held) == len(stays_heard.held) == 2,
        lambda: poll_all(stays, leaves),
    )
    left = set(leaves_heard.held)
    leaves.close()
    assert leaves_heard.told("revoke") >= left
    assert leaves_heard.held == set()
    until(lambda: len(stays_heard.held) == 4, lambda: stays.poll(0.05))


def test_a_member_that_was_put_out_is_told_that_its_partitions_are_lost(world: World) -> None:
    topic = world.topic(partitions=2)
    frozen, frozen_heard = _member(world, topic)
    until(lambda: len(frozen_heard.held) == 2, lambda: frozen.poll(0.05))
    survivor, survivor_heard = _member(world, topic)
    until(lambda: len(survivor_heard.held) == 1, lambda: poll_all(frozen, survivor))
    kept = set(frozen_heard.held)
    world.admin.put_out(frozen)
    until(lambda: len(survivor_heard.held) == 2, lambda: survivor.poll(0.05))
    until(lambda: bool(frozen_heard.told("lost")), lambda: poll_all(frozen, survivor))
    assert frozen_heard.told("lost") == kept
    until(lambda: len(frozen_heard.held) == 1, lambda: poll_all(frozen, survivor))


def test_offsets_of_a_member_that_was_put_out_are_refused(world: World) -> None:
    topic = world.topic()
    frozen, frozen_heard = _member(world, topic)
    until(lambda: bool(frozen_heard.held), lambda: frozen.poll(0.05))
    asleep = frozen.group_metadata()
    survivor, survivor_heard = _member(world, topic)
    world.admin.put_out(frozen)
    until(lambda: bool(survivor_heard.held), lambda: survivor.poll(0.05))
    producer = world.transactional()
    producer.begin()
    with pytest.raises(Fenced):
        producer.send_offsets({TopicPartition(topic, 0): (1, "")}, asleep, PATIENCE)
    producer.abort(PATIENCE)


def test_a_static_member_comes_back_to_its_partitions_unnoticed(world: World) -> None:
    topic = world.topic(partitions=2)
    other, other_heard = _member(world, topic, instance_id="other")
    old, old_heard = _member(world, topic, instance_id="node-1")
    until(lambda: len(old_heard.held) == len(other_heard.held) == 1, lambda: poll_all(other, old))
    kept, before = set(old_heard.held), _moves(other_heard)
    old.close()
    new, new_heard = _member(world, topic, instance_id="node-1")
    until(lambda: bool(new_heard.held), lambda: poll_all(other, new))
    assert new_heard.held == kept
    assert _moves(other_heard) == before


def test_the_second_process_of_one_identity_ends_the_first(world: World) -> None:
    topic = world.topic()
    first, first_heard = _member(world, topic, instance_id="node-1")
    until(lambda: bool(first_heard.held), lambda: first.poll(0.05))
    second, second_heard = _member(world, topic, instance_id="node-1")
    until(lambda: bool(second_heard.held), lambda: second.poll(0.05))
    with pytest.raises(Die, match="FENCED_INSTANCE_ID"):
        until(lambda: False, lambda: first.poll(0.05))


def test_what_a_listener_raises_leaves_through_poll(world: World) -> None:
    class OutOfOrderError(Exception):
        pass

    class Failing(Recorder):
        def on_assign(self, partitions: Partitions) -> None:
            raise OutOfOrderError

    topic = world.topic()
    member, _ = _member(world, topic, Failing())
    with pytest.raises(OutOfOrderError):
        until(lambda: False, lambda: member.poll(0.05))
    assert member.assignment() == _places(topic, 1)


def test_joining_for_a_missing_topic_names_it(world: World) -> None:
    topic = world.new_name("missing")
    member = world.member()

    def join_and_poll() -> None:
        member.join(topic, Recorder())
        until(lambda: False, lambda: member.poll(0.05))

    with pytest.raises(Die, match=topic):
        join_and_poll()


def test_a_consumer_reads_from_the_beginning_and_then_from_what_was_committed(
    world: World,
) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    world.write(place, b"a", b"b", b"c")
    first, _ = _consumer(world, topic)
    assert values(read(first, 3)) == [b"a", b"b", b"c"]
    first.commit({place: 2})
    assert first.committed([place], PATIENCE) == {place: (2, "")}
    first.close()
    second, _ = _consumer(world, topic)
    assert values(read(second, 1)) == [b"c"]


def test_a_consumer_reads_several_topics(world: World) -> None:
    high, low = world.place(), world.place()
    world.write(high, b"h")
    world.write(low, b"l")
    consumer, _ = _consumer(world, high.topic, low.topic)
    assert sorted(r.value or b"" for r in read(consumer, 2)) == [b"h", b"l"]


def test_a_commit_without_waiting_arrives(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    world.write(place, b"a")
    consumer, _ = _consumer(world, topic)
    read(consumer, 1)
    consumer.commit_later({place: 1})
    until(
        lambda: consumer.committed([place], PATIENCE)[place].offset == 1,
        lambda: consumer.poll_batch(1, 0.05),
    )


def test_a_paused_consumer_stays_in_the_group_and_goes_on_where_it_stopped(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    world.write(place, b"a")
    consumer, heard = _consumer(world, topic)
    read(consumer, 1)
    consumer.pause([place, world.place()])
    world.write(place, b"b")
    assert consumer.poll_batch(10, 0.3) == []
    consumer.resume([place])
    assert values(read(consumer, 1)) == [b"b"]
    assert heard.held == {place}


def test_what_is_revoked_can_be_committed_until_the_callback_returns(world: World) -> None:
    topic = world.topic(partitions=2)
    for place in _places(topic, 2):
        world.write(place, b"a", b"b")

    got: list[bytes | None] = []

    def commit(partitions: Partitions) -> None:
        if not got:  # else all is over, and whoever leaves may not be a member any more
            old.commit(dict.fromkeys(partitions, 1))

    old, old_heard = _consumer(world, topic, heard=Recorder(commit))
    until(lambda: len(old_heard.held) == 2, lambda: old.poll_batch(10, 0.05))
    new, new_heard = _consumer(world, topic)

    def step() -> None:
        old.poll_batch(10, 0.05)
        got.extend(values(new.poll_batch(10, 0.05)))

    until(lambda: bool(got), step)
    assert got == [b"b"]
    assert new_heard.held == old_heard.told("revoke")


def test_nothing_of_a_partition_is_returned_after_it_was_revoked(world: World) -> None:
    topic = world.topic(partitions=2)
    old, old_heard = _consumer(world, topic)
    until(lambda: len(old_heard.held) == 2, lambda: old.poll_batch(10, 0.05))
    new, new_heard = _consumer(world, topic)

    def step() -> None:
        for place in _places(topic, 2):
            world.write(place, b"x")
        records = old.poll_batch(10, 0.05)
        assert {TopicPartition(r.topic, r.partition) for r in records} <= old_heard.held
        new.poll_batch(10, 0.05)

    until(lambda: bool(new_heard.held), step)


def test_a_consumer_that_was_put_out_cannot_commit(world: World) -> None:
    topic = world.topic()
    place = TopicPartition(topic, 0)
    world.write(place, b"a")
    frozen, _ = _consumer(world, topic)
    read(frozen, 1)
    survivor, _ = _consumer(world, topic)
    world.admin.put_out(frozen)
    assert values(read(survivor, 1)) == [b"a"]
    with pytest.raises(Fenced):
        frozen.commit({place: 1})
    assert survivor.committed([place], PATIENCE) == {place: (None, "")}


def test_everything_may_be_closed_twice(world: World) -> None:
    member, consumer = world.member(), world.consumer()
    member.join(world.topic(), Recorder())
    consumer.subscribe([world.topic()], Recorder())
    poll_all(member)
    consumer.poll_batch(1, 0.05)
    for role in (world.reader(), world.producer(), world.transactional(), member, consumer):
        role.close()
        role.close()


def _places(topic: str, partitions: int) -> set[TopicPartition]:
    return {TopicPartition(topic, p) for p in range(partitions)}


def _member(
    world: World, topic: str, heard: Recorder | None = None, instance_id: str | None = None
) -> tuple[GroupMember, Recorder]:
    member, heard = world.member(instance_id), heard or Recorder()
    member.join(topic, heard)
    return member, heard


def _moves(heard: Recorder) -> list[tuple[str, Partitions]]:
    """What it was told of partitions: the end of a rebalance comes as an assignment of none."""
    return [(call, partitions) for call, partitions in heard.calls if partitions]


def _consumer(
    world: World, *topics: str, heard: Recorder | None = None
) -> tuple[GroupConsumer, Recorder]:
    consumer, heard = world.consumer(), heard or Recorder()
    consumer.subscribe(topics, heard)
    return consumer, heard
