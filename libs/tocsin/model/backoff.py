"""When a failed attempt is followed by the next."""

import math
from hashlib import blake2b

from tocsin.model.jobs import Retry


def retry_delay_ms(retry: Retry, attempt: int, seed: str, retry_after_ms: int | None = None) -> int:
    """Milliseconds from the failure of `attempt` (from 1) to the start of the next one.

    Full jitter: uniform in [0, ceiling], drawn from `seed` (the run id) and the attempt alone, so
    that whoever computes it again gets the same. `retry_after_ms`, what the target asked for, is
    a lower bound, up to `retry.max_ms`.
    """
    ceiling = _ceiling_ms(retry, attempt)
    delay = ceiling if retry.jitter == "none" else _draw(ceiling, f"{seed}#{attempt}")
    return max(delay, min(retry_after_ms or 0, retry.max_ms))


def _ceiling_ms(retry: Retry, attempt: int) -> int:
    """initial * multiplier^(attempt - 1), at most max; the power is never taken beyond max."""
    if retry.initial_ms <= 0 or retry.initial_ms >= retry.max_ms:
        return max(0, min(retry.initial_ms, retry.max_ms))
    growth = (attempt - 1) * math.log(retry.multiplier)
    if growth >= math.log(retry.max_ms / retry.initial_ms):
        return retry.max_ms
    return min(int(retry.initial_ms * retry.multiplier ** (attempt - 1)), retry.max_ms)


def _draw(ceiling: int, seed: str) -> int:
    """A whole number in [0, ceiling]: 64 bits of BLAKE2b, scaled."""
    bits = int.from_bytes(blake2b(seed.encode(), digest_size=8).digest(), "big")
    return bits * (ceiling + 1) >> 64
