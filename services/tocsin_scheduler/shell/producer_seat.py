"""The one transactional producer a process has at a time, and its id."""

from collections.abc import Callable
from uuid import uuid4

from tocsin.broker.port import Cluster, TransactionalProducer
from tocsin.wire.topics import Topics

INIT_S = 5.0

Incarnations = Callable[[], str]


def random_incarnation() -> str:
    """Distinguishes the producers of one node."""
    return uuid4().hex[:12]


class ProducerSeat:
    """Every producer built has an id of its own, never used again. A former one is fenced before
    the next is built: then it is decided what became of its last transaction."""

    def __init__(
        self,
        cluster: Cluster,
        topics: Topics,
        node: str,
        incarnations: Incarnations = random_incarnation,
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._node = node
        self._incarnations = incarnations
        self._former: str | None = None
        self._gone: set[str] = set()
        self.producer: TransactionalProducer | None = None
        self.id = ""

    @property
    def harmless_ids(self) -> frozenset[str]:
        """Of this process: the present id, and those that are fenced."""
        return frozenset(self._gone | {self.id})

    def fill(self) -> TransactionalProducer:
        """The producer, built and registered if there is none. Raises BrokerErrors; then there is
        none, and this can be called again."""
        if self.producer is None:
            self._fence_former()
            self.producer = self._build()
        return self.producer

    def vacate(self) -> None:
        """Give the producer up, with whatever it has open."""
        if self.producer is not None:
            self.producer.close()
            self.producer = None
            self._former = self.id

    def _fence_former(self) -> None:
        if self._former is not None:
            self._cluster.fence(self._former, INIT_S)
            self._gone.add(self._former)
            self._former = None

    def _build(self) -> TransactionalProducer:
        self.id = self._topics.transactional_id(self._node, self._incarnations())
        producer = self._cluster.transactional_producer(self.id)
        try:
            producer.init(INIT_S)
        except BaseException:
            producer.close()
            raise
        return producer
