"""What stands beside a committed offset can be read back, and nothing else counts as ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.broker.port import MAX_METADATA_BYTES
from tocsin.model.keys import JobKey
from tocsin_scheduler.core.place import NOWHERE, place_of
from tocsin_scheduler.shell.metadata import Mark, encode_mark, parse_mark

owners = st.none() | st.from_regex(r"[A-Za-z0-9._-]{1,80}", fullmatch=True)


@given(st.binary(max_size=300), owners, st.none() | st.integers(0, 10**13))
def test_a_mark_is_read_back_as_it_was(place: bytes, owner: str | None, since: int | None) -> None:
    mark = Mark(place, owner, since)
    assert parse_mark(encode_mark(mark)) == mark


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1",
        "v2 w= o=",
        "v1 w=0 o=a",
        "v1 w=zz o=a",
        "v1 w=00",
        "v1 w=00 o=a s=",
        "v1 w=00 o=a s=-1",
    ],
)
def test_anything_else_is_foreign(text: str) -> None:
    assert parse_mark(text) is None


def test_the_longest_fits_the_broker() -> None:
    key = str(JobKey("t" * 63, "j" * 200)).encode()
    mark = Mark(place_of(2**62, "low", key), "p" * 100 + "." + "n" * 100 + ".0123456789ab")
    assert len(encode_mark(mark).encode()) <= MAX_METADATA_BYTES
    assert parse_mark(encode_mark(Mark(NOWHERE, None))) == Mark(NOWHERE, None)
