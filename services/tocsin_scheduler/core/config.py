"""What the core has to be told once."""

from collections.abc import Container
from dataclasses import dataclass, field

from tocsin.wire.topics import DEFAULT_POOL, Topics

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class CoreConfig:
    """`pools`: those that have run topics. Durations in milliseconds.

    longest_jitter_ms: how long a settled time has to be remembered after the watermark has passed
    it. ended_ms: how long the id of an ended run is remembered after its last outcome.
    """

    topics: Topics
    partition: int
    partitions: int
    pools: Container[str] = field(default_factory=lambda: frozenset({DEFAULT_POOL}))
    compaction_lag_ms: int = DAY_MS
    longest_jitter_ms: int = DAY_MS
    claim_after_ms: int = 1_000
    lease_ms: int = 60_000
    settle_ms: int = 1_000
    decided_ms: int = 7 * DAY_MS
    dead_ms: int = 30 * DAY_MS
    ended_ms: int = 600_000
    max_unfinished: int = 10_000
    max_buffered: int = 1_000
