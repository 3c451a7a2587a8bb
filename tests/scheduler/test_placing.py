"""Which partition the next run goes to."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tocsin_scheduler.core.placing import CHUNK, Chooser, Share

ROOMS = st.lists(st.integers(1, 300), min_size=1, max_size=5)


def shares_of(rooms: list[int]) -> list[Share]:
    """Each worker reads two partitions."""
    return [Share(f"w{n}", (2 * n, 2 * n + 1), room) for n, room in enumerate(rooms)]


def placed(chooser: Chooser, runs: int) -> list[int]:
    return [chooser.take() for _ in range(runs)]


def test_as_long_as_nobody_is_known_all_partitions_take_turns_in_chunks() -> None:
    assert placed(Chooser(3), 4 * CHUNK) == [p for p in (0, 1, 2, 0) for _ in range(CHUNK)]


@given(ROOMS, st.integers(0, 5_000))
def test_every_worker_gets_its_part_and_at_most_a_chunk_more(rooms: list[int], runs: int) -> None:
    chooser = Chooser(2 * len(rooms))
    chooser.share(shares_of(rooms))
    counts = Counter(partition // 2 for partition in placed(chooser, runs))
    loads = [counts[n] / room for n, room in enumerate(rooms)]
    assert max(loads) - min(loads) <= 1 + 1e-9


@given(ROOMS)
def test_nobody_gets_more_in_a_row_than_there_is_room_for(rooms: list[int]) -> None:
    chooser = Chooser(2 * len(rooms) + 1)
    chooser.share([*shares_of(rooms), Share("other", (2 * len(rooms),), 1)])
    longest: Counter[int] = Counter()
    row, last = 0, None
    for partition in placed(chooser, 2_000):
        row = row + 1 if partition == last else 1
        last = partition
        longest[partition] = max(longest[partition], row)
    assert all(longest[2 * n] <= room for n, room in enumerate(rooms))


@given(ROOMS, st.integers(0, 200), st.data())
def test_who_has_no_room_any_more_gets_nothing_from_then_on(
    rooms: list[int], before: int, data: st.DataObject
) -> None:
    chooser = Chooser(2 * len(rooms))
    chooser.share(shares_of(rooms))
    placed(chooser, before)
    left = data.draw(st.lists(st.sampled_from(shares_of(rooms)), min_size=1, unique=True))
    chooser.share(left)
    allowed = {partition for share in left for partition in share.partitions}
    assert set(placed(chooser, 500)) <= allowed


def test_who_comes_back_does_not_get_what_it_would_have_had_meanwhile() -> None:
    chooser = Chooser(2)
    both = [Share("a", (0,), CHUNK), Share("b", (1,), CHUNK)]
    chooser.share(both[:1])
    placed(chooser, 100 * CHUNK)
    chooser.share(both)
    counts = Counter(placed(chooser, 10 * CHUNK))
    assert abs(counts[0] - counts[1]) <= CHUNK


def test_reports_that_change_nothing_do_not_favour_the_first() -> None:
    chooser = Chooser(2)
    counts: Counter[int] = Counter()
    for _ in range(8 * CHUNK):
        chooser.share([Share("a", (0,), CHUNK), Share("b", (1,), CHUNK)])
        counts[chooser.take()] += 1
    assert counts == {0: 4 * CHUNK, 1: 4 * CHUNK}


def test_a_worker_on_its_own_changes_its_partition_after_a_chunk_whatever_its_room() -> None:
    chooser = Chooser(4)
    chooser.share([Share("a", (1, 3), 4)])
    assert placed(chooser, 3 * CHUNK) == [p for p in (1, 3, 1) for _ in range(CHUNK)]


def test_a_worker_with_little_room_is_left_after_as_many_runs() -> None:
    chooser = Chooser(2)
    chooser.share([Share("a", (0,), 2), Share("b", (1,), 3)])
    assert placed(chooser, 10) == [0, 0, 1, 1, 1, 0, 0, 1, 1, 1]
