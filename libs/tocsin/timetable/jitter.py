"""Jitter: a delay that spreads jobs with one schedule, and never changes for a job."""

from hashlib import blake2b


def jitter_offset_ms(job_key: str, jitter_ms: int) -> int:
    """How late the job runs after each nominal time: 0 <= offset < `jitter_ms`, 0 without jitter.

    BLAKE2b-64 of the UTF-8 job key as a big-endian number, modulo the jitter.
    """
    if jitter_ms == 0:
        return 0
    digest = blake2b(job_key.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") % jitter_ms


def due_ms(nominal_ms: int, next_nominal_ms: int | None, offset_ms: int) -> int:
    """When an occurrence is due: after its offset, but always before the next nominal time."""
    due = nominal_ms + offset_ms
    return due if next_nominal_ms is None else min(due, next_nominal_ms - 1)
