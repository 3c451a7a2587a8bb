"""How large the benchmarks are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Size:
    """`full`: the sizes that the definitions give for long runs. `factor` shrinks counts and
    durations, to see that a benchmark works; its figures then mean little."""

    full: bool = False
    factor: float = 1.0

    def count(self, default: int, full: int | None = None) -> int:
        """A number of jobs, runs or calls."""
        return max(10, int(self._chosen(default, full) * self.factor))

    def seconds(self, default: int, full: int | None = None) -> int:
        """A duration, at least 3 s."""
        return max(3, int(self._chosen(default, full) * self.factor))

    def _chosen(self, default: int, full: int | None) -> int:
        return full if self.full and full is not None else default


def size_from(environ: Mapping[str, str] = os.environ) -> Size:
    """`BENCH_SCALE=full`, and `BENCH_SIZE=0.01` for a hundredth."""
    return Size(environ.get("BENCH_SCALE") == "full", float(environ.get("BENCH_SIZE") or 1))
