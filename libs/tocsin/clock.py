"""The only reader of the machine's clocks."""

import time


def now_ms() -> int:
    """Wall-clock time, UTC epoch milliseconds."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds of a clock that never steps; only differences have a meaning."""
    return time.monotonic_ns() // 1_000_000
