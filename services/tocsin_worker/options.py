"""What distinguishes one worker from another."""

from dataclasses import dataclass, field
from typing import Literal

from tocsin.wire.topics import DEFAULT_POOL, Topics
from tocsin_worker.concurrency import ConcurrencyLimits
from tocsin_worker.leases import LeaseTerms

Source = Literal["group", "share"]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """`name` must be unique among all workers, past ones included: leases are held by it.

    `grace_ms`: how long runs may go on after the worker was told to stop. `strict_priority`: a
    lower priority only when no higher one waits. `source`: how runs are read.
    """

    name: str
    topics: Topics = field(default_factory=Topics)
    pool: str = DEFAULT_POOL
    slots: int = 64
    limits: ConcurrencyLimits = field(default_factory=ConcurrencyLimits)
    terms: LeaseTerms = field(default_factory=LeaseTerms)
    grace_ms: int = 30_000
    strict_priority: bool = False
    source: Source = "group"
