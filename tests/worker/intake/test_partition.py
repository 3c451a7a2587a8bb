"""Runs are handed out no sooner than it is safe to run them."""

from hypothesis import given
from hypothesis import strategies as st

from tests.worker.support import a_run
from tocsin_worker.intake.partition import WINDOW, Delivery, Place, RunsPartition

PLACE = Place("normal", 3)


def partition_with(offsets: list[int]) -> RunsPartition:
    partition = RunsPartition(PLACE, offsets[0], None)
    for offset in offsets:
        partition.read(offset, a_run())
    return partition


def take_all(partition: RunsPartition) -> list[Delivery]:
    """Take what is offered, and what is offered in its place, until nothing is."""
    taken = []
    while offered := list(partition.offer()):
        for delivery in offered:
            partition.taken(delivery)
            taken.append(delivery)
    return taken


def test_a_place_is_written_priority_and_partition() -> None:
    assert str(Place("high", 3)) == "high:3"


def test_possible_redeliveries_are_offered_one_by_one_and_in_order() -> None:
    partition = partition_with([5, 6, 9])
    (first,) = partition.offer()
    assert not list(partition.offer())
    partition.taken(first)
    (second,) = partition.offer()
    assert (first.offset, second.offset) == (5, 6)
    assert first.redelivered
    assert second.redelivered


def test_what_lies_behind_the_first_window_is_new_and_offered_together() -> None:
    partition = partition_with(list(range(2 * WINDOW)))
    for delivery in take_all(partition):
        partition.passed(delivery.offset)
    partition.committed = partition.lowest
    offered = list(partition.offer())
    assert [d.offset for d in offered] == list(range(WINDOW, 2 * WINDOW))
    assert not any(d.redelivered for d in offered)


def test_what_was_written_after_the_assignment_is_nobodys_redelivery() -> None:
    partition = RunsPartition(PLACE, 10, end=12)
    for offset in (10, 11, 12, 13):
        partition.read(offset, a_run())
    assert [(d.offset, d.redelivered) for d in take_all(partition)] == [
        (10, True),
        (11, True),
        (12, False),
        (13, False),
    ]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=100), st.data())
def test_nothing_is_offered_a_window_or_more_past_the_committed_offset(
    gaps: list[int], data: st.DataObject
) -> None:
    offsets = [sum(gaps[: i + 1]) for i in range(len(gaps))]
    partition = partition_with(offsets)
    running: list[Delivery] = []
    done = 0
    while done < len(offsets):
        running += take_all(partition)
        assert all(d.offset < partition.committed + WINDOW for d in running)
        if running:
            delivery = running.pop(data.draw(st.integers(0, len(running) - 1)))
            partition.passed(delivery.offset)
            done += 1
        else:
            assert partition.stalled
        partition.committed = data.draw(st.sampled_from([partition.committed, partition.lowest]))
        if partition.stalled and not running:
            partition.committed = partition.lowest
    assert partition.lowest == offsets[-1] + 1


def test_a_record_without_a_run_passes_at_once() -> None:
    partition = RunsPartition(PLACE, 3, None)
    partition.read_unusable(3)
    assert partition.lowest == 4
    assert partition.unstarted_count == 0


def test_a_withdrawn_partition_offers_nothing_and_knows_what_was_not_started() -> None:
    partition = partition_with([0, 1, 2])
    (first,) = partition.offer()
    partition.taken(first)
    list(partition.offer())
    partition.withdraw()
    assert not list(partition.offer())
    assert [d.offset for d in partition.unstarted()] == [1, 2]
    assert partition.highest_taken == 0
