"""What the whole scheduler process works with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tocsin.broker.port import Cluster
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.shell.log_identity import LogIdentity
from tocsin_scheduler.store.local import LocalStores


@dataclass(frozen=True)
class Premises:
    """config: the core's, its partition not set. run_topics: those of all pools, with their
    numbers of partitions, as known at the moment. catch_up_rate: runs of backlogs a second.

    node: the name of this process, the same after a restart. is_static: whether it keeps its
    partitions over a restart, as a static group member.
    """

    cluster: Cluster
    topics: Topics
    log: LogIdentity
    stores: LocalStores
    config: CoreConfig
    run_topics: Callable[[], Mapping[str, int]]
    catch_up_rate: int
    node: str
    is_static: bool

    def config_of(self, number: int) -> CoreConfig:
        return replace(self.config, partition=number)

    def store_name(self, number: int) -> str:
        """Another cluster, prefix, topic or partition has another store. The client tells ids in
        base64, one in four of them with a slash."""
        topic_id = self.log.sources.jobs.replace("/", "_")
        return f"{self.log.cluster_id}.{self.topics.prefix}.{topic_id}.{number}"
