"""What a benchmark says: one JSON object on one line."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value with its unit; `detail` says what it was made from. None = skipped, with a reason."""

    bench: str
    value: float | None
    unit: str
    detail: Mapping[str, object] = field(default_factory=dict)

    def line(self) -> str:
        return json.dumps(
            {
                "bench": self.bench,
                "value": None if self.value is None else _rounded(self.value),
                "unit": self.unit,
                "detail": self.detail,
            }
        )


def median_of(bench: str, unit: str, samples: Sequence[float], **detail: object) -> Measurement:
    """The median of repeated measurements; all of them, and their spread, in the detail."""
    spread = [_rounded(min(samples)), _rounded(max(samples))]
    shown = {"samples": [_rounded(sample) for sample in samples], "spread": spread, **detail}
    return Measurement(bench, median(samples), unit, shown)


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that `percent` % of all do not exceed (nearest rank)."""
    if not values:
        raise ValueError("no values to take a percentile of")
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def by_window(
    pairs: Iterable[tuple[int, float]], begin: int, window_ms: int, windows: int, expected: int
) -> list[list[float]]:
    """The values of (instant, value) pairs by window: the first starts at `begin`, each lasts for
    `window_ms`. Raises RuntimeError where one does not have as many as expected."""
    found: list[list[float]] = [[] for _ in range(windows)]
    for instant, value in pairs:
        number = (instant - begin) // window_ms
        if 0 <= number < windows:
            found[number].append(value)
    counts = [len(values) for values in found]
    if counts != [expected] * windows:
        raise RuntimeError(f"{expected} were expected in each window, there are {counts}")
    return found


def _rounded(value: float) -> float:
    """Four significant digits: more would claim too much."""
    return float(f"{value:.4g}")
