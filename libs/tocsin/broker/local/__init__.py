"""A single-node Kafka on this machine: for the demo, for development and for tests.

    with local_broker() as broker:
        ...  # broker.bootstrap is "127.0.0.1:PORT", usable at once

Where it comes from, and how it ends with its parent: `runtime.py` and `guard.py`.
"""

from tocsin.broker.local.background import (
    background_broker,
    start_background,
    stop_background,
)
from tocsin.broker.local.broker import (
    BrokerAddress,
    LocalBroker,
    local_broker,
    reachable_broker,
)
from tocsin.broker.local.errors import LocalBrokerError, NothingToRun

__all__ = [
    "BrokerAddress",
    "LocalBroker",
    "LocalBrokerError",
    "NothingToRun",
    "background_broker",
    "local_broker",
    "reachable_broker",
    "start_background",
    "stop_background",
]
