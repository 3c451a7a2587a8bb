"""Quantiles of lateness, counted and not kept."""

import math

from hypothesis import given
from hypothesis import strategies as st

from tocsin_cli.audit.lateness import LatenessCounts


@given(st.lists(st.integers(-5, 9_999), min_size=1, max_size=200))
def test_quantiles_below_ten_seconds_are_exact(values: list[int]) -> None:
    counts = LatenessCounts()
    for value in values:
        counts.add(value)
    summary = counts.summary()
    ordered = sorted(max(value, 0) for value in values)
    assert summary is not None
    assert summary.runs == len(values)
    assert summary.p50_ms == ordered[math.ceil(0.50 * len(ordered)) - 1]
    assert summary.p99_ms == ordered[math.ceil(0.99 * len(ordered)) - 1]
    assert summary.max_ms == ordered[-1]


@given(st.integers(10_000, 10**9))
def test_beyond_ten_seconds_it_is_cut_to_whole_seconds(value: int) -> None:
    counts = LatenessCounts()
    counts.add(value)
    summary = counts.summary()
    assert summary is not None
    assert summary.max_ms == value - value % 1_000


def test_without_a_run_there_is_no_lateness() -> None:
    assert LatenessCounts().summary() is None
