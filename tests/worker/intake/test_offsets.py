"""The offset that may be committed is the lowest that has not passed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin_worker.intake.offsets import OffsetTracker


@st.composite
def histories(draw: st.DrawFn) -> tuple[int, list[tuple[str, int]]]:
    """A start, and reads of rising offsets with holes between passes of any of them."""
    start = draw(st.integers(0, 1_000))
    offset = start
    read: list[int] = []
    steps: list[tuple[str, int]] = []
    for gap in draw(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=60)):
        if gap is None and read:
            steps.append(("passed", draw(st.sampled_from(read))))
        elif gap is not None:
            offset += gap
            read.append(offset)
            steps.append(("read", offset))
            offset += 1
    return start, steps


@given(histories())
def test_lowest_is_the_first_unpassed_offset_or_the_next_to_come(
    history: tuple[int, list[tuple[str, int]]],
) -> None:
    start, steps = history
    tracker = OffsetTracker(start)
    read: list[int] = []
    passed: set[int] = set()
    for step, offset in steps:
        if step == "read":
            tracker.read(offset)
            read.append(offset)
        else:
            tracker.passed(offset)
            passed.add(offset)
        unpassed = [o for o in read if o not in passed]
        behind = read[-1] + 1 if read else start
        assert tracker.lowest == (unpassed[0] if unpassed else behind)


def test_a_record_read_twice_is_an_error() -> None:
    tracker = OffsetTracker(10)
    tracker.read(10)
    with pytest.raises(ValueError, match="offset 10 read after 10"):
        tracker.read(10)
