"""Durations as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.durations import parse_typed_duration_ms

SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@given(st.integers(1, 5_000), st.sampled_from(sorted(SECONDS)))
def test_a_number_with_a_unit(number: int, unit: str) -> None:
    assert parse_typed_duration_ms(f"{number}{unit}") == number * SECONDS[unit] * 1_000


@pytest.mark.parametrize(
    ("text", "expected_ms"), [("PT1H30M", 5_400_000), ("P2W", 1_209_600_000), (" 5m ", 300_000)]
)
def test_iso_8601_too(text: str, expected_ms: int) -> None:
    assert parse_typed_duration_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["", "1h30m", "1.5h", "-5s", "5 m", "5M", "٥s", "P", "PT1.5S"])
def test_only_what_is_documented(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_typed_duration_ms(text)


def test_both_bounds_are_allowed() -> None:
    assert parse_typed_duration_ms("5s", minimum_ms=5_000, maximum_ms=5_000) == 5_000
    with pytest.raises(ValueError, match="too short: the least is PT5S"):
        parse_typed_duration_ms("4s", minimum_ms=5_000)
    with pytest.raises(ValueError, match="too long: the most is PT5S"):
        parse_typed_duration_ms("6", maximum_ms=5_000)
