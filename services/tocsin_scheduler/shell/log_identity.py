"""Which log this is: a topic that was deleted and made again is another one of the same name.

Offsets in the former say nothing of the new one, nor does a store that was built from it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tocsin.broker.port import Cluster, TopicInfo
from tocsin.wire.headers import SourceIds
from tocsin.wire.topics import Topics


class LogIdentity(NamedTuple):
    """The cluster, and the ids of the topics that a scheduler reads and of the state topic."""

    cluster_id: str
    sources: SourceIds
    state_id: str


def topics_of_log(topics: Topics) -> list[str]:
    """The names of those topics."""
    return [topics.jobs, topics.signals, topics.outcomes, topics.state]


def identify(cluster_id: str, topics: Topics, found: Mapping[str, TopicInfo]) -> LogIdentity | None:
    """By what the brokers say of the topics; None where one is missing."""
    names = topics_of_log(topics)
    if not found.keys() >= set(names):
        return None
    *sources, state = (found[name].topic_id for name in names)
    return LogIdentity(cluster_id, SourceIds(*sources), state)


class LogWatch:
    """Looks whether the log is still the one that this process works on."""

    def __init__(self, cluster: Cluster, topics: Topics, log: LogIdentity) -> None:
        self.has_changed = False
        self._cluster = cluster
        self._topics = topics
        self._log = log

    def look(self, timeout: float) -> None:
        """May run on any thread. A topic that is missing may come back. Raises BrokerErrors."""
        found = self._cluster.topics(topics_of_log(self._topics), timeout)
        log = identify(self._log.cluster_id, self._topics, found)
        self.has_changed = log not in (None, self._log)
