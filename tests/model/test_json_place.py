"""The place of a character in JSON, as the field that an error is about."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.json_place import LONGEST, place_of
from tocsin.model.strict_json import RefusedJson, loads

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
WRONG = "\N{SNOWMAN}"


def with_one_wrong_value(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A list or an object around a value, and the place of what is wrong in it."""
    others = st.lists(st.just([{"a": "]"}, 1]) | st.text("[{:", max_size=2), max_size=3)
    in_list = st.tuples(others, inner, others).map(
        lambda parts: ((str(len(parts[0])), *parts[1][0]), [*parts[0], parts[1][1], *parts[2]])
    )
    in_object = st.tuples(NAMES, inner, others).map(
        lambda parts: (
            (parts[0], *parts[1][0]),
            {**{f"other {n}": each for n, each in enumerate(parts[2])}, parts[0]: parts[1][1]},
        )
    )
    return in_list | in_object


@given(st.recursive(st.just(((), WRONG)), with_one_wrong_value, max_leaves=5), st.booleans())
def test_it_leads_to_what_is_wrong(found: tuple[tuple[str, ...], Any], has_blanks: bool) -> None:
    place, document = found
    text = json.dumps(document, ensure_ascii=False, indent=1 if has_blanks else None)
    text = text.replace(f'"{WRONG}"', "NaN", 1)
    with pytest.raises(RefusedJson) as refused:
        loads(text.encode())

    assert place_of(text, refused.value.position) == place


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'{"a": {"b": "\ud800"}}', ("a", "b")),
        (r'{"a": ["x", {"b": "\u0000"}]}', ("a", "1", "b")),
        (r'{"a": {"\ud800": 1}}', ("a",)),
        (r'{"a": {"\u0000": NaN}}', ("a",)),
        ('{"a": {"b": 1, "b": 2}}', ("a", "b")),
        ('{"a": [%s]}' % ("9" * 101), ("a", "0")),
        ("[" * 65, ("0",) * 64),
        ("NaN", ()),
    ],
)
def test_every_kind_of_refusal_has_its_place(text: str, place: tuple[str, ...]) -> None:
    with pytest.raises(RefusedJson) as refused:
        loads(text.encode())

    assert place_of(text, refused.value.position) == place


def test_what_lies_below_long_names_is_told_by_those_above() -> None:
    text = json.dumps({"a": {"b" * LONGEST: 0}})

    assert place_of(text, text.index("0")) == ("a",)


@given(st.text('[]{}":, \\a1'), st.integers(0, 40))
def test_no_text_is_an_error(text: str, position: int) -> None:
    assert isinstance(place_of(text, position), tuple)
