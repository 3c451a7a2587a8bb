"""What separates the topics of a cluster from those that an installation is to have."""

from dataclasses import dataclass

from tocsin.broker.admin import TopicAdmin
from tocsin.wire.topic_specs import Change, shipped_topics
from tocsin.wire.topics import DEFAULT_POOL, Topics


@dataclass(frozen=True, slots=True)
class WantedTopics:
    """partitions, replication: None = those of the installation, or of `ops/topics.yaml` where
    there is none yet."""

    topics: Topics
    partitions: int | None = None
    replication: int | None = None
    pools: tuple[str, ...] = ()

    def changes(self, admin: TopicAdmin, *, prefer_existing: bool = False) -> list[Change]:
        """prefer_existing: the numbers of an installation that exists win over those asked for."""
        partitions, replication = self.partitions, self.replication
        found = admin.describe([self.topics.jobs]).get(self.topics.jobs)
        if found is not None:
            keep = prefer_existing
            partitions = found.partitions if keep or partitions is None else partitions
            replication = found.replication if keep or replication is None else replication
        pools = dict.fromkeys([DEFAULT_POOL, *self.pools])
        return admin.plan(
            shipped_topics().expand(
                self.topics, pools, partitions=partitions, replication=replication
            )
        )
