"""How late runs were written, counted by the millisecond."""

from collections import Counter

from tocsin_cli.audit.report import Lateness

_FINE_MS = 10_000
_COARSE_MS = 1_000


class LatenessCounts:
    """Exact to a millisecond up to 10 s, to a second beyond: the memory it takes is bounded by
    the worst lateness, not by the number of runs."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, lateness_ms: int) -> None:
        """Clocks differ a little: what seems early counts as on time."""
        value = max(lateness_ms, 0)
        self._counts[value if value < _FINE_MS else value - value % _COARSE_MS] += 1

    def summary(self) -> Lateness | None:
        """None without a run."""
        if not self._counts:
            return None
        return Lateness(
            runs=self._counts.total(),
            p50_ms=self._quantile(0.50),
            p99_ms=self._quantile(0.99),
            max_ms=max(self._counts),
        )

    def _quantile(self, share: float) -> int:
        """The smallest value that at least this share of the runs does not exceed."""
        seen, wanted = 0, share * self._counts.total()
        for value in sorted(self._counts):
            seen += self._counts[value]
            if seen >= wanted:
                return value
        return max(self._counts)
