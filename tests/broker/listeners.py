"""A listener that remembers, and may act."""

from collections.abc import Callable

from tocsin.broker.port import TopicPartition

Partitions = frozenset[TopicPartition]


class Recorder:
    """Keeps what is held, and every call in order; `act_on_revoke` runs inside that call."""

    def __init__(self, act_on_revoke: Callable[[Partitions], None] = lambda _: None) -> None:
        self.held: set[TopicPartition] = set()
        self.calls: list[tuple[str, Partitions]] = []
        self._act_on_revoke = act_on_revoke

    def on_assign(self, partitions: Partitions) -> None:
        self.calls.append(("assign", partitions))
        self.held |= partitions

    def on_revoke(self, partitions: Partitions) -> None:
        self.calls.append(("revoke", partitions))
        self._act_on_revoke(partitions)
        self.held -= partitions

    def on_lost(self, partitions: Partitions) -> None:
        self.calls.append(("lost", partitions))
        self.held -= partitions

    def told(self, call: str) -> set[TopicPartition]:
        """All partitions this call has named."""
        return set[TopicPartition]().union(*(p for name, p in self.calls if name == call))
