"""Framed Avro: what is not a value of its kind is a WireError, whatever the bytes."""

import struct
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.generators import jobs
from tests.wire.golden_values import FULL_RUN, GOLDEN
from tocsin.model.jobs import Job
from tocsin.model.runs import Cancel
from tocsin.wire.codec import CANCEL, CODECS, JOB, RUN, Codec, WireError, codec_of

codecs = st.sampled_from(CODECS)
goldens = st.sampled_from(
    [(codec, codec.encode(value)) for codec in CODECS for value in GOLDEN[codec.name]]
)


@given(jobs)
def test_a_job_reads_back_the_same(job: Job) -> None:
    assert JOB.decode(JOB.encode(job)) == job


def test_a_value_is_a_zero_byte_the_schema_id_and_the_avro_of_the_specification() -> None:
    framed = b"\x00" + (7_410_007).to_bytes(4, "big") + b"\x02a" + b"\x06" + b"\x02\x02w"
    assert CANCEL.encode(Cancel(run_id="a", attempt=3, worker="w")) == framed


@given(codecs, st.binary(max_size=80))
def test_random_bytes_behind_the_right_prefix_only_ever_raise_wire_error(
    codec: Codec[Any], data: bytes
) -> None:
    with suppress(WireError):
        codec.decode(struct.pack(">bI", 0, codec.schema_id) + data)


@given(codecs, st.binary(max_size=80))
def test_random_bytes_only_ever_raise_wire_error(codec: Codec[Any], data: bytes) -> None:
    with suppress(WireError):
        codec.decode(data)
    with suppress(WireError):
        codec_of(data)


@given(goldens, st.data())
def test_every_truncation_is_a_wire_error(
    golden: tuple[Codec[Any], bytes], data: st.DataObject
) -> None:
    codec, framed = golden
    end = data.draw(st.integers(0, len(framed) - 1))
    with pytest.raises(WireError):
        codec.decode(framed[:end])


@given(goldens, st.binary(min_size=1, max_size=3))
def test_what_follows_the_value_is_a_wire_error(
    golden: tuple[Codec[Any], bytes], tail: bytes
) -> None:
    codec, framed = golden
    with pytest.raises(WireError, match="after the end"):
        codec.decode(framed + tail)


@given(goldens, st.data())
def test_a_changed_byte_gives_a_whole_value_or_a_wire_error(
    golden: tuple[Codec[Any], bytes], data: st.DataObject
) -> None:
    codec, framed = golden
    at = data.draw(st.integers(0, len(framed) - 1))
    changed = bytes([*framed[:at], data.draw(st.integers(0, 255)), *framed[at + 1 :]])
    with suppress(WireError):
        value = codec.decode(changed)
        assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62])
def test_a_length_beyond_the_record_allocates_nothing(size: int) -> None:
    with pytest.raises(WireError):
        CANCEL.decode(struct.pack(">bI", 0, CANCEL.schema_id) + _long(size))


def test_the_value_of_another_kind_is_named() -> None:
    framed = RUN.encode(FULL_RUN)
    with pytest.raises(WireError, match="schema id 7410004; a job has 7410001"):
        JOB.decode(framed)


@pytest.mark.parametrize("data", [b"", b"\x00", b"{}", b"\x01\x00\x71\x11\x41\x00"])
def test_bytes_without_a_schema_id_are_told_from_values(data: bytes) -> None:
    with pytest.raises(WireError, match="no schema id in front"):
        codec_of(data)
    with pytest.raises(WireError, match="no schema id in front"):
        JOB.decode(data)


def test_a_schema_id_of_somebody_else_is_named() -> None:
    with pytest.raises(WireError, match="schema id 42 is not one of Tocsin's"):
        codec_of(struct.pack(">bI", 0, 42))


def _long(number: int) -> bytes:
    """A long as the Avro specification writes it: zigzag, seven bits a byte, lowest first."""
    zigzag = number << 1
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    return bytes([*out, zigzag])
