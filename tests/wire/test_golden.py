"""The bytes of every released schema, which later releases still read and write."""

import pytest

from tests.wire.golden_values import GOLDEN, GOLDEN_FILES
from tocsin.model.values import Value
from tocsin.resources import resource_path
from tocsin.wire.codec import CODECS, Codec, codec_of, schema_ids

BY_NAME: dict[str, Codec[Value]] = {codec.name: codec for codec in CODECS}


def golden_bytes(name: str) -> list[bytes]:
    """The full value and the least one, a line of hexadecimal digits each."""
    lines = (GOLDEN_FILES / f"{name}.hex").read_text("ascii").splitlines()
    return [bytes.fromhex(line) for line in lines]


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes_are_read_as_the_values_they_were_written_from(name: str) -> None:
    assert [BY_NAME[name].decode(data) for data in golden_bytes(name)] == list(GOLDEN[name])


@pytest.mark.parametrize("name", GOLDEN)
def test_the_values_are_still_written_as_the_golden_bytes(name: str) -> None:
    assert [BY_NAME[name].encode(value) for value in GOLDEN[name]] == golden_bytes(name)


@pytest.mark.parametrize("name", GOLDEN)
def test_a_value_names_its_own_codec(name: str) -> None:
    assert all(codec_of(data) is BY_NAME[name] for data in golden_bytes(name))


@pytest.mark.parametrize("name", GOLDEN)
def test_the_full_value_sets_every_field_and_the_least_none_that_is_optional(name: str) -> None:
    full, least = GOLDEN[name]
    unset = {field for field in full.__struct_fields__ if getattr(full, field) is None}
    optional = {
        field
        for field, default in zip(
            reversed(type(least).__struct_fields__),
            reversed(type(least).__struct_defaults__),
            strict=False,
        )
        if default is None
    }
    assert unset == set()
    assert all(getattr(least, field) is None for field in optional)


def test_every_schema_has_an_id_a_codec_and_golden_bytes() -> None:
    schemas = {path.stem for path in resource_path("schemas").glob("*.avsc")}
    golden = {path.stem for path in GOLDEN_FILES.glob("*.hex")}
    assert schemas == set(schema_ids()) == set(BY_NAME) == golden == set(GOLDEN)


def test_ids_are_unique_and_out_of_the_way_of_other_registries() -> None:
    ids = list(schema_ids().values())
    assert len(ids) == len(set(ids))
    assert min(ids) == 7_410_001
    assert sum(codec.schema_id in ids for codec in CODECS) == len(CODECS)
