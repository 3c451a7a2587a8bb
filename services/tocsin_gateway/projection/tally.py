"""Numbers that can be added up: what rows of the history come to, without the rows (pure).

A tally counts by names: `status dead`, `reason overlap: skip`, `retried`, and for a measure such as
`duration` its values by buckets, `duration 70`, and their sum, `duration_total`. A bucket is a
value below 64 and 1/32 of a power of two above, so a value read back is off by 1.6 % at the most.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import ceil
from typing import Literal, TypeAlias

from tocsin.model.keys import is_of_backfill
from tocsin.model.runs import RunStatus
from tocsin.model.values import Value
from tocsin_gateway.projection.history import RunRow

Tally: TypeAlias = Counter[str]

Measure: TypeAlias = Literal["duration", "lateness"]

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}
_NOT_RUN: tuple[RunStatus, ...] = ("skipped", "missed")
_EXACT_BITS = 6
_STEPS = 1 << _EXACT_BITS - 1
_LONGEST_REASON = 200


class Spread(Value, frozen=True):
    """How values in milliseconds are spread: quantiles by nearest rank; without values, none."""

    count: int = 0
    mean: float | None = None
    quantiles: Mapping[str, int] = {}


def add(tally: Tally, row: RunRow, times: int = 1) -> None:
    """Take a row into account; `times` -1: not any more."""
    for name, number in _parts(row):
        tally[name] += times * number


def named(tally: Tally, kind: Literal["status", "reason"]) -> dict[str, int]:
    """How often which status, or reason why an occurrence did not run."""
    begin = f"{kind} "
    return {
        name.removeprefix(begin): number
        for name, number in tally.items()
        if name.startswith(begin) and number > 0
    }


def spread(tally: Tally, measure: Measure) -> Spread:
    """How the values of the measure are spread."""
    begin = f"{measure} "
    buckets = sorted(
        (int(name.removeprefix(begin)), number)
        for name, number in tally.items()
        if name.startswith(begin) and number > 0
    )
    count = sum(number for _, number in buckets)
    if not count:
        return Spread()
    quantiles = {name: _at(buckets, ceil(part * count)) for name, part in QUANTILES.items()}
    mean = round(tally[f"{measure}_total"] / count, 1)
    return Spread(count=count, mean=mean, quantiles=quantiles)


def bucket_of(value: int) -> int:
    """The number of the bucket that a value of 0 or more falls into; it rises with the value."""
    shift = max(0, value.bit_length() - _EXACT_BITS)
    return shift * _STEPS + (value >> shift)


def value_of(bucket: int) -> int:
    """The middle of a bucket."""
    shift = max(0, bucket // _STEPS - 1)
    return (bucket - shift * _STEPS << shift) + ((1 << shift) - 1) // 2


def _at(buckets: list[tuple[int, int]], rank: int) -> int:
    """The value of that rank, from 1 on."""
    for bucket, number in buckets:
        rank -= number
        if rank <= 0:
            return value_of(bucket)
    raise AssertionError("a rank beyond all values")


def _parts(row: RunRow) -> Iterator[tuple[str, int]]:
    yield f"status {row.status}", row.count
    if row.status in _NOT_RUN:
        yield f"reason {(row.reason or '')[:_LONGEST_REASON]}", row.count
    if row.attempt > 1:
        yield "retried", 1
    yield from _measured("duration", row.started_time, row.finished_time)
    if not is_of_backfill(row.run_id):
        yield from _measured("lateness", row.due_time, row.first_started_time)


def _measured(measure: Measure, begin: int | None, end: int | None) -> Iterator[tuple[str, int]]:
    """Clocks differ: what ends before it begins counts as 0."""
    if begin is not None and end is not None:
        took = max(0, end - begin)
        yield f"{measure} {bucket_of(took)}", 1
        yield f"{measure}_total", took
