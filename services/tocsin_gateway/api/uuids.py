"""UUIDs in the order of time (RFC 9562 §5.7)."""

import secrets
from uuid import UUID


def uuid7(now_ms: int) -> UUID:
    """48 bits of `now_ms`, then random ones beside version and variant."""
    low = secrets.randbits(62) | 0b10 << 62
    high = (now_ms & (1 << 48) - 1) << 16 | 0x7 << 12 | secrets.randbits(12)
    return UUID(int=high << 64 | low)
