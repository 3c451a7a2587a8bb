"""Which pools have run topics, and how many partitions these have."""

import re
from collections.abc import Iterator, Mapping

from tocsin.broker.port import Cluster
from tocsin.model.jobs import PRIORITIES
from tocsin.wire.topics import DEFAULT_POOL, Topics

REQUEST_S = 5.0


class Pools:
    """A container of the pools whose three run topics exist; asked by the core, kept up to date
    by `refresh`. Reading and replacing it from two threads is safe."""

    def __init__(self, cluster: Cluster, topics: Topics) -> None:
        self._cluster = cluster
        self._topics = topics
        self._known: frozenset[str] = frozenset()
        self.missed: frozenset[str] = frozenset()
        self.run_topics: Mapping[str, int] = {}

    def __contains__(self, pool: object) -> bool:
        if pool in self._known:
            return True
        self.missed |= {str(pool)}
        return False

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._known))

    def refresh(self) -> None:
        """Ask the cluster. May run on any thread; raises BrokerErrors."""
        names = self._cluster.topic_names(REQUEST_S)
        pools = [pool for pool in self._candidates(names) if self._of(pool) <= names]
        wanted = [name for pool in pools for name in self._of(pool)]
        found = self._cluster.topics(wanted, REQUEST_S)
        self.run_topics = {name: info.partitions for name, info in found.items()}
        self._known = frozenset(pool for pool in pools if self._of(pool) <= found.keys())
        self.missed = frozenset()

    def _candidates(self, names: frozenset[str]) -> set[str]:
        """By the topics for high priority: `<prefix>.runs.high`, `<prefix>.runs.<pool>.high`."""
        pattern = re.compile(re.escape(self._topics.prefix) + r"\.runs(?:\.([a-z0-9-]+))?\.high")
        matches = (pattern.fullmatch(name) for name in names)
        return {match[1] or DEFAULT_POOL for match in matches if match is not None}

    def _of(self, pool: str) -> set[str]:
        return {self._topics.runs(priority, pool) for priority in PRIORITIES}
