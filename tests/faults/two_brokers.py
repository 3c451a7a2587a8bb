"""A Kafka of two nodes, whose leaders move from one to the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient

from tests.faults.waiting import until
from tocsin.broker.local.broker import LocalBroker
from tocsin.broker.local.java import Java, new_cluster_id
from tocsin.broker.local.node import Node, new_node
from tocsin.broker.local.ports import free_port

SECOND = 2
REQUEST_S = 30.0
EAGER = {
    "leader.imbalance.check.interval.seconds": "1",
    "leader.imbalance.per.broker.percentage": "0",
}
"""Leaders go back by themselves, and soon."""


class TwoBrokers:
    """The first node is the controller, and has what Kafka keeps for itself; `second` may be
    stopped, killed and started again."""

    def __init__(self, first: LocalBroker, second: LocalBroker) -> None:
        self.bootstrap = f"{first.bootstrap},{second.bootstrap}"
        self.second = second
        self._admin = AdminClient({"bootstrap.servers": first.bootstrap, "log_level": 0})

    def led_by_second(self, topic: str) -> int:
        """How many partitions of a topic the second node leads."""
        found = self._admin.list_topics(topic, timeout=REQUEST_S).topics[topic]
        return sum(one.leader == SECOND for one in found.partitions.values())

    def move_leaders_off(self, topic: str, *, kill: bool) -> None:
        """By the end of the second node; the first leads all when this returns."""
        self.second.kill() if kill else self.second.stop()
        until(lambda: not self.led_by_second(topic), "the first leads all partitions")

    def move_leaders_back(self, topic: str) -> None:
        """The second is there again, and leads what it would lead by preference."""
        self.second.restart()
        until(lambda: self.led_by_second(topic), "the second leads partitions again")


@contextmanager
def two_brokers(java: Java, folder: Path) -> Iterator[TwoBrokers]:
    """Both up; they end with the block."""
    one = new_node(folder / "first", None, EAGER)
    first = LocalBroker(one, java, [])
    try:
        first.start()
        second = LocalBroker(_second(folder / "second", one), java, [])
        try:
            second.start()
            yield TwoBrokers(first, second)
        finally:
            second.stop()
    finally:
        first.stop()


def _second(folder: Path, first: Node) -> Node:
    """A node of the first one's cluster, and no controller."""
    port = free_port()
    properties = {
        "process.roles": "broker",
        "node.id": str(SECOND),
        "controller.quorum.voters": f"1@127.0.0.1:{first.controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
    }
    return _formatted(new_node(folder, port, properties), first)


def _formatted(node: Node, first: Node) -> Node:
    lines = (first.data / "meta.properties").read_text("utf-8").splitlines()
    cluster = next(line for line in lines if line.startswith("cluster.id="))
    node.data.mkdir(parents=True)
    own = ("version=1", cluster, f"node.id={SECOND}", f"directory.id={new_cluster_id()}")
    (node.data / "meta.properties").write_text("\n".join(own) + "\n", "utf-8")
    return node
