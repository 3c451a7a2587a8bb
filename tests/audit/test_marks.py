"""Watermarks as they are committed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.broker.port import Committed
from tocsin_cli.marks import Mark, later, mark_of
from tocsin_scheduler.shell import metadata

places = st.binary(min_size=8, max_size=40)
owners = st.none() | st.from_regex(r"[a-z0-9-]{1,20}\.scheduler\.[a-z0-9.-]{1,20}", fullmatch=True)


@given(places, owners, st.none() | st.integers(0, 10**13), st.integers(0, 1 << 40))
def test_what_the_scheduler_commits_is_read(
    place: bytes, owner: str | None, since: int | None, offset: int
) -> None:
    text = metadata.encode_mark(metadata.Mark(place, owner, since))
    mark = mark_of(Committed(offset, text))
    assert mark is not None
    assert (mark.place, mark.jobs, mark.owner) == (place, offset, owner)
    assert mark.instant == int.from_bytes(place[:8], "big")


@pytest.mark.parametrize("text", ["", "v1", "v2 w=00 o=a", "v1 w=0 o=a", "v1 w=00"])
def test_an_offset_without_a_watermark_is_somebody_elses(text: str) -> None:
    assert mark_of(Committed(7, text)) is None


def test_of_two_marks_the_one_with_the_larger_place_holds_whole() -> None:
    one = {0: Mark(b"\1", 5), 1: Mark(b"\3", 1, "a")}
    other = {0: Mark(b"\2", 4, "b"), 1: Mark(b"\2", 9), 2: Mark(b"\1", 3)}
    assert later(one, other) == {0: other[0], 1: one[1], 2: other[2]}
