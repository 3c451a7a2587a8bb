"""Sweeps keep pace with what comes, and leave most of the time to the records that wait."""

from hypothesis import given
from hypothesis import strategies as st

from tocsin_gateway.projection.sweep_pace import EVERY_MS, SweepPace


def time_in_sweeps(batches: list[int], sweep_ms: int, *, records_wait: bool) -> tuple[int, int]:
    """With batches that take so long one after another, and always more to remove: the time in
    sweeps, and the whole time."""
    pace, now, swept = SweepPace(0), EVERY_MS, 0
    for batch_ms in batches:
        if pace.is_due(now, records_wait=records_wait):
            pace.swept(now, now + sweep_ms, has_more=True)
            swept, now = swept + sweep_ms, now + sweep_ms
        now += batch_ms
    return swept, now - EVERY_MS


@given(st.lists(st.integers(0, 500), min_size=1), st.integers(0, 2_000))
def test_while_records_wait_sweeps_take_a_fifth_of_the_time(
    batches: list[int], sweep_ms: int
) -> None:
    swept, whole = time_in_sweeps(batches, sweep_ms, records_wait=True)

    assert swept - sweep_ms <= whole / 5


@given(st.lists(st.integers(0, 500), min_size=1), st.integers(0, 2_000))
def test_they_never_take_more_than_half(batches: list[int], sweep_ms: int) -> None:
    swept, whole = time_in_sweeps(batches, sweep_ms, records_wait=False)

    assert swept - sweep_ms <= whole / 2


def test_where_there_is_more_a_sweep_follows_each_batch_that_takes_as_long() -> None:
    swept, whole = time_in_sweeps([50] * 100, 50, records_wait=False)

    assert (swept, whole) == (5_000, 10_000)


def test_where_nothing_is_left_a_sweep_comes_every_ten_seconds() -> None:
    pace = SweepPace(0)

    assert not pace.is_due(EVERY_MS - 1, records_wait=False)
    assert pace.is_due(EVERY_MS, records_wait=False)
    pace.swept(EVERY_MS, EVERY_MS + 700, has_more=False)
    assert not pace.is_due(2 * EVERY_MS - 1, records_wait=False)
    assert pace.is_due(2 * EVERY_MS, records_wait=True)
