"""JSON that no two programs read differently."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.model.generators import json_values
from tocsin.model.strict_json import MAX_DEPTH, InvalidJson, JsonValue, dumps, loads

REFUSED = [
    (b"", 0, "nothing there"),
    (b" \n", 0, "nothing there"),
    (b"\xef\xbb\xbf{}", 0, "byte order mark"),
    (b'["\xff"]', 2, "not UTF-8"),
    (b'"\xed\xa0\x80"', 1, "not UTF-8"),
    (b"[NaN]", 1, "NaN is not JSON"),
    (b'{"a": -Infinity}', 6, "-Infinity is not JSON"),
    (b"[1, 1e400]", 4, "too large"),
    (b"-1e400", 0, "too large"),
    (b"[" + b"7" * 101 + b"]", 1, "over 100 digits"),
    (b'{"a": 1, "b": {"a": 1}, "a": 2}', 24, "'a' twice in one object"),
    (b'{"a": 1, "\\u0061": 2}', 9, "'a' twice in one object"),
    (b'"\\ud800"', 1, "half of a surrogate pair"),
    (b'"\\udc00"', 1, "half of a surrogate pair"),
    (b'"\\ud800 \\udc00"', 8, "half of a surrogate pair"),
    (b'"\\ud800\\ud800\\udc00"', 7, "half of a surrogate pair"),
    (b'"\\ud800\\n"', 7, "half of a surrogate pair"),
    (b'["\\u0000"]', 2, "NUL"),
    (b'"a\tb"', 2, "control character"),
    (b"{} {}", 3, "after the end"),
    (b"{}\x00", 2, "after the end"),
    (b"01", 1, "after the end"),
    (b'{"a": 1,}', 8, "property name"),
    (b"[1,]", 3, "expecting value"),
    (b"'a'", 0, "expecting value"),
    (b'"a', 0, "unterminated string"),
]

FRAGMENTS = [
    *"{}[]:,",
    *['"a"', '"b"', '"\\ud83d"', '"\\udca9"', '"\\ud83d\\udca9"', '"\\u0000"', '"\\\\u0000"'],
    *["1", "-0", "1.5", "1e400", "NaN", "Infinity", "true", "null", " ", "\n", "\ufeff", "9" * 101],
]


@pytest.mark.parametrize(("data", "position", "sentence"), REFUSED)
def test_what_is_not_strict_json_is_refused_with_its_place(
    data: bytes, position: int, sentence: str
) -> None:
    with pytest.raises(InvalidJson, match=sentence) as caught:
        loads(data)
    assert caught.value.position == position


def test_the_sentence_counts_lines_and_columns_from_one() -> None:
    with pytest.raises(InvalidJson, match=r"at line 2 column 8$"):
        loads(b'{"a": 1,\n "b" : NaN}')


def test_64_levels_are_read_and_65_are_not() -> None:
    deepest = loads(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    for _ in range(MAX_DEPTH - 1):
        assert isinstance(deepest, list)
        (deepest,) = deepest
    assert deepest == []
    with pytest.raises(InvalidJson, match="more than 64 levels"):
        loads(b'{"a":' * 65 + b"1" + b"}" * 65)


@pytest.mark.parametrize(
    "nested", [b"[" * 200_000, b'{"a":' * 200_000, b"[" * 200_000 + b"]" * 200_000]
)
def test_200_000_levels_are_an_error_like_any_other(nested: bytes) -> None:
    with pytest.raises(InvalidJson, match="more than 64 levels"):
        loads(nested)


def test_brackets_in_strings_are_no_levels() -> None:
    assert loads(b'["' + b"[{" * 100 + b'\\"["]') == ["[{" * 100 + '"[']


def test_a_long_object_with_a_repeated_name_is_refused_in_linear_time() -> None:
    members = b",".join(b'"%d":0' % number for number in range(100_000))
    with pytest.raises(InvalidJson, match="'99999' twice"):
        loads(b"{" + members + b',"99999":1}')


@given(json_values)
def test_what_is_written_reads_back_the_same(value: JsonValue) -> None:
    assert loads(dumps(value)) == value


def test_writing_keeps_order_and_characters_and_no_blanks() -> None:
    assert dumps({"b": [1, 2.5], "a": "é💩/"}) == '{"b":[1,2.5],"a":"é💩/"}'.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800"])
def test_what_is_not_json_is_not_written(value: JsonValue) -> None:
    with pytest.raises(ValueError):
        dumps(value)


@given(
    st.binary(max_size=40)
    | st.lists(st.sampled_from(FRAGMENTS)).map(lambda some: "".join(some).encode())
)
def test_any_bytes_are_a_value_that_the_naive_reader_agrees_on_or_invalid(data: bytes) -> None:
    expected = _naive(data)
    if expected is None:
        with pytest.raises(InvalidJson):
            loads(data)
    else:
        assert expected == (loads(data),)


def _naive(data: bytes) -> tuple[JsonValue] | None:
    """The value by the standard library, walked through afterwards; None = refused."""
    try:
        value: JsonValue = json.loads(data.decode(), object_pairs_hook=_without_repetition)
    except ValueError:
        return None
    return (value,) if _is_plain(value) else None


def _without_repetition(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a name twice")
    return dict(pairs)


def _is_plain(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return all(_is_plain(name) and _is_plain(member) for name, member in value.items())
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    if isinstance(value, str):
        return not any(char == "\0" or "\ud800" <= char <= "\udfff" for char in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) < 10**100
