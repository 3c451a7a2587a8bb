"""Where a local Kafka comes from: a Docker daemon, else Java with jars from Maven."""

from collections.abc import Callable, Iterable
from typing import Protocol

from tocsin.broker.local.docker import find_docker
from tocsin.broker.local.errors import NothingToRun, Unusable
from tocsin.broker.local.java import find_java
from tocsin.broker.local.node import Node


class Runtime(Protocol):
    """A way to run one Kafka node as a child process in the foreground."""

    @property
    def bind_host(self) -> str:
        """The address a broker listens on to be reached at the host's 127.0.0.1."""

    def format(self, node: Node) -> None:
        """Make `node`'s data folder a new cluster. Blocks for seconds.

        Raises LocalBrokerError with the tool's last words.
        """

    def command(self, node: Node) -> list[str]:
        """The foreground process; SIGTERM to it stops the broker cleanly."""

    def removal(self, node: Node) -> list[str]:
        """A command that ends at once whatever outlives a SIGKILL of that process; may be
        empty."""


Finder = Callable[[], Runtime]


def choose_runtime(finders: Iterable[Finder] = (find_docker, find_java)) -> Runtime:
    """The first way that works here. May block while an image or jars are fetched.

    Raises NothingToRun with all reasons in one sentence.
    """
    reasons = []
    for find in finders:
        try:
            return find()
        except Unusable as reason:
            reasons.append(str(reason))
    raise NothingToRun(
        f"no Kafka to use ({'; '.join(reasons)}): install Docker and start its daemon, or install "
        "Java 17 or newer and Maven, or name a running broker in TOCSIN_BROKERS"
    )
