"""What any log behind the port does with share groups."""

from tests.broker.worlds import World, until
from tocsin.broker.port import Record, RecordPlace, ShareConsumer


def place(record: Record) -> RecordPlace:
    return RecordPlace(record.topic, record.partition, record.offset)


def member(world: World, topic: str, group: str, max_records: int = 500) -> ShareConsumer:
    return world.share(group, topic, max_records)


def taken(consumer: ShareConsumer, count: int) -> list[Record]:
    """So many records, accepted as they come."""
    found: list[Record] = []

    def poll() -> None:
        records = consumer.poll_batch(0.2)
        consumer.accept([place(record) for record in records])
        found.extend(records)

    until(lambda: len(found) >= count, poll)
    return found


def test_a_new_group_begins_at_the_beginning_of_the_log(world: World) -> None:
    here = world.place()
    world.write(here, b"a", b"b")
    consumer = member(world, here.topic, world.new_name("group"))
    assert [record.value for record in taken(consumer, 2)] == [b"a", b"b"]


def test_what_was_aborted_is_not_read(world: World) -> None:
    here = world.place()
    world.write_aborted(here, b"never")
    world.write(here, b"a")
    consumer = member(world, here.topic, world.new_name("group"))
    assert [record.value for record in taken(consumer, 1)] == [b"a"]
    assert consumer.poll_batch(0.2) == []


def test_each_record_goes_to_one_member(world: World) -> None:
    here, group = world.place(), world.new_name("group")
    first, second = (member(world, here.topic, group, max_records=1) for _ in range(2))
    world.write(here, *(b"%d" % number for number in range(30)))
    found: list[Record] = []

    def poll() -> None:
        for consumer in (first, second):
            records = consumer.poll_batch(0.1)
            consumer.accept([place(record) for record in records])
            found.extend(records)

    until(lambda: len(found) >= 30, poll)
    assert sorted(record.offset for record in found) == sorted({r.offset for r in found})


def test_what_was_not_accepted_goes_to_another_when_a_member_leaves(world: World) -> None:
    here, group = world.place(), world.new_name("group")
    world.write(here, b"a")
    world.write(here, b"b")
    first = member(world, here.topic, group)
    held: list[Record] = []
    until(lambda: bool(held), lambda: held.extend(first.poll_batch(0.2)))
    first.close()
    second = member(world, here.topic, group)
    values = {record.value for record in taken(second, 2)}
    assert values == {b"a", b"b"}


def test_part_of_what_was_taken_may_be_accepted_before_the_rest(world: World) -> None:
    here, group = world.place(), world.new_name("group")
    world.write(here, b"a", b"b", b"c")
    consumer = member(world, here.topic, group)
    held: list[Record] = []
    until(lambda: len(held) == 3, lambda: held.extend(consumer.poll_batch(0.2)))
    consumer.accept([place(held[1])])
    consumer.accept([place(held[0]), place(held[2])])
    assert consumer.poll_batch(0.2) == []
