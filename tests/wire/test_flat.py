"""What is read in one go is what the library reads."""

import io
from contextlib import suppress
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.golden_values import GOLDEN
from tocsin.wire.codec import CODECS, PREFIX_BYTES, Codec, WireError, read_schema
from tocsin.wire.flat import FlatReader, NotFlat

SCHEMAS = {codec.name: read_schema(codec.name) for codec in CODECS}
READ_OFTEN = ("run", "outcome", "event", "state_run", "cancel")
LONGS = st.integers(-(2**63), 2**63 - 1)
FLAT = {name: FlatReader(SCHEMAS[name]) for name in READ_OFTEN}


def by_library(name: str, data: bytes) -> tuple[Any, int]:
    source = io.BytesIO(data)
    fields = fastavro.schemaless_reader(source, fastavro.parse_schema(SCHEMAS[name]), None)
    return fields, source.tell()


@pytest.mark.parametrize("name", READ_OFTEN)
def test_golden_values_are_read_alike(name: str) -> None:
    for codec in (codec for codec in CODECS if codec.name == name):
        for value in GOLDEN[name]:
            data = codec.encode(value)[PREFIX_BYTES:]
            assert FLAT[name].read(data, 0) == by_library(name, data)


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_a_value_that_is_cut_off_is_none(codec: Codec[Any]) -> None:
    for value in GOLDEN[codec.name]:
        data = codec.encode(value)
        for length in range(len(data)):
            with pytest.raises(WireError):
                codec.decode(data[:length])


@given(st.sampled_from(READ_OFTEN), st.binary(max_size=120))
def test_whatever_can_be_read_is_read_alike(name: str, data: bytes) -> None:
    with suppress(IndexError, ValueError):
        assert FLAT[name].read(data, 0) == by_library(name, data)


@given(
    st.tuples(LONGS, LONGS),
    st.text(max_size=200),
    st.binary(max_size=200),
    st.booleans(),
    st.none() | st.text(max_size=200),
)
def test_all_types_are_read_alike(
    numbers: tuple[int, int], text: str, data: bytes, truth: bool, perhaps: str | None
) -> None:
    inner = {"type": "record", "name": "Inner", "fields": [{"name": "n", "type": "long"}]}
    schema = {
        "type": "record",
        "name": "Outer",
        "fields": [
            {"name": "n", "type": "long"},
            {"name": "text", "type": "string"},
            {"name": "data", "type": "bytes"},
            {"name": "truth", "type": "boolean"},
            {"name": "perhaps", "type": ["null", "string"]},
            {"name": "inner", "type": inner},
        ],
    }
    first, second = numbers
    value = {
        "n": first,
        "text": text,
        "data": data,
        "truth": truth,
        "perhaps": perhaps,
        "inner": {"n": second},
    }
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    read, end = FlatReader(schema).read(b"before" + out.getvalue(), len(b"before"))
    assert read == value
    assert end == len(b"before") + len(out.getvalue())


@pytest.mark.parametrize("number", [b"\xff" * 1_000_000, b"\xff" * 10 + b"\1", b"\xff" * 9 + b"\2"])
def test_a_number_of_more_than_64_bits_is_none(number: bytes) -> None:
    reader = FlatReader({"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}]})
    with pytest.raises(ValueError, match="64 bits"):
        reader.read(number, 0)


@pytest.mark.parametrize(
    "kind", ["double", {"type": "map", "values": "string"}, ["string", "null"], "io.tocsin.Run"]
)
def test_other_types_are_the_librarys(kind: object) -> None:
    with pytest.raises(NotFlat):
        FlatReader({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]})
