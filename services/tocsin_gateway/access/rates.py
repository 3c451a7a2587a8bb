"""How often somebody may ask."""

from collections import OrderedDict

from tocsin_gateway.projection.projector import Clock

_MOST_KNOWN = 10_000


class RateLimiter:
    """A bucket of tokens for each name, as many as come in a second. For the event loop.

    Names that were not heard of for long are forgotten: their buckets are full.
    """

    def __init__(self, clock: Clock, per_second: int) -> None:
        self._clock = clock
        self._per_second = per_second
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def take(self, name: str) -> bool:
        """Whether `name` may ask once more now."""
        now = self._clock.monotonic_ms()
        level, seen = self._buckets.pop(name, (float(self._per_second), now))
        level = min(self._per_second, level + (now - seen) * self._per_second / 1000)
        allowed = level >= 1
        self._buckets[name] = (level - allowed, now)
        if len(self._buckets) > _MOST_KNOWN:
            self._buckets.popitem(last=False)
        return allowed
