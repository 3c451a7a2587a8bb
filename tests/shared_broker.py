"""One local Kafka for several processes: the first to ask starts it, and stops it as the last.

    folder/lock       held exclusively while somebody looks or starts
    folder/users      held shared by everybody who uses the broker; its starter waits, before it
                      stops, until it alone is left
    folder/address    where the broker is

Locks of `flock(2)` end with their process, so a killed user holds up nobody.
"""

import fcntl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

from tocsin.broker.local import BrokerAddress, LocalBroker, local_broker

Start = Callable[[], AbstractContextManager[BrokerAddress | LocalBroker]]


@contextmanager
def shared_broker(folder: Path, start: Start = local_broker) -> Iterator[BrokerAddress]:
    """The broker of `folder`, started by this process if it is the first to ask."""
    address = folder / "address"
    with ExitStack() as stack:
        with _locked(folder / "lock", fcntl.LOCK_EX):
            starter = not address.exists()
            if starter:
                broker = stack.enter_context(start())
                address.write_text(broker.bootstrap, "utf-8")
            users = stack.enter_context(_locked(folder / "users", fcntl.LOCK_SH))
        yield BrokerAddress(address.read_text("utf-8"))
        if starter:
            fcntl.flock(users, fcntl.LOCK_EX)


@contextmanager
def _locked(path: Path, how: int) -> Iterator[int]:
    with path.open("w") as handle:
        fcntl.flock(handle, how)
        yield handle.fileno()
