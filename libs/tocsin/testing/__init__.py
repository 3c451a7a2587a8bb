"""For tests, yours too: a Kafka cluster in memory and a clock that moves by hand.

`MemoryCluster` passes the same suite as the real one behind `tocsin.broker.port`.
"""

from tocsin.testing.clock import SettableClock
from tocsin.testing.cluster import MemoryCluster

__all__ = ["MemoryCluster", "SettableClock"]
