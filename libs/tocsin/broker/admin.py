"""Topics of a real cluster: what there is, and making it what it must be."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from time import sleep
from typing import TYPE_CHECKING, Final, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public all the same
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from tocsin.broker.errors import BrokerUnreachable, Die
from tocsin.broker.kafka.clients import make_client
from tocsin.broker.kafka.settings import ClientSettings, Properties
from tocsin.broker.kafka.translate import translating
from tocsin.clock import monotonic_ms
from tocsin.wire.topic_specs import Change, ExistingTopic, TopicSpec, plan, shipped_topics
from tocsin.wire.topics import DEFAULT_POOL, Topics

if TYPE_CHECKING:
    from confluent_kafka.admin._topic import TopicDescription

T = TypeVar("T")

_UNKNOWN_TOPIC: Final = ck.KafkaError.UNKNOWN_TOPIC_OR_PART
_TOPIC_EXISTS: Final = ck.KafkaError.TOPIC_ALREADY_EXISTS

TIMEOUT: Final = 15.0
"""Seconds within which the cluster has to answer a request."""

POLL: Final = 0.05
"""Seconds between two looks at whether new topics are shown."""


class TopicAdmin:
    """Every method blocks for at most a few times `timeout` and raises `BrokerError`s.

    An unreachable cluster is `BrokerUnreachable`, missing rights are `Die`.
    """

    def __init__(
        self, bootstrap: str, properties: Properties | None = None, *, timeout: float = TIMEOUT
    ) -> None:
        """`properties` are librdkafka's, as for every client. Raises `PropertiesRefused`."""
        self._bootstrap = bootstrap
        self._timeout = timeout
        self._client = make_client(
            AdminClient, ClientSettings(bootstrap, properties or {}, "tocsin").admin()
        )

    def describe(self, names: Collection[str]) -> dict[str, ExistingTopic]:
        """Those of `names` that exist, by name."""
        with self._translating("describe the topics"):
            described = self._described(names)
            configs = self._configs(described)
        return {
            name: ExistingTopic(
                name=name,
                partitions=len(description.partitions),
                replication=min(len(one.replicas) for one in description.partitions),
                config=configs[name],
            )
            for name, description in described.items()
        }

    def plan(self, specs: Sequence[TopicSpec]) -> list[Change]:
        """What separates the cluster from `specs`."""
        return plan(specs, self.describe([spec.name for spec in specs]))

    def check(self, topics: Topics, pools: Iterable[str] = (DEFAULT_POOL,)) -> list[Change]:
        """What separates an installation from what this release needs; nothing = all is well.

        The numbers of partitions and replicas are those that `jobs` was made with: what matters
        is that the topics agree, not what they are.
        """
        jobs = self.describe([topics.jobs]).get(topics.jobs)
        chosen = (jobs.partitions, jobs.replication) if jobs else (None, None)
        partitions, replication = chosen
        file = shipped_topics()
        return self.plan(file.expand(topics, pools, partitions=partitions, replication=replication))

    def require(self, topics: Topics, pools: Iterable[str] = (DEFAULT_POOL,)) -> None:
        """Raises `Die` with a sentence for each topic that is not what this release needs."""
        changes = self.check(topics, pools)
        if changes:
            raise Die("; ".join(change.message for change in changes))

    def apply(self, changes: Iterable[Change]) -> None:
        """Creates and alters; returns when the cluster shows it.

        Drift stays: `apply` has no remedy for it. A topic that somebody else has created meanwhile
        is left as it is; plan again to see whether it fits.
        """
        changes = tuple(changes)
        created = [change.spec for change in changes if change.kind == "create"]
        altered = [change for change in changes if change.kind == "alter"]
        if created:
            self._create(created)
        if altered:
            self._alter(altered)
        self._await({spec.name: {} for spec in created} | {c.topic: c.config for c in altered})

    def _described(self, names: Collection[str]) -> dict[str, "TopicDescription"]:
        if not names:
            return {}
        wanted = ck.TopicCollection(list(names))
        answers = self._client.describe_topics(wanted, request_timeout=self._timeout)
        found = {name: _unless(_UNKNOWN_TOPIC, answer) for name, answer in answers.items()}
        return {name: description for name, description in found.items() if description}

    def _configs(self, names: Collection[str]) -> dict[str, dict[str, str]]:
        if not names:
            return {}
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
        answers = self._client.describe_configs(resources, request_timeout=self._timeout)
        return {
            resource.name: {
                name: entry.value
                for name, entry in answer.result().items()
                if entry.value is not None
            }
            for resource, answer in answers.items()
        }

    def _create(self, specs: Collection[TopicSpec]) -> None:
        wanted = [
            NewTopic(
                spec.name,
                num_partitions=spec.partitions,
                replication_factor=spec.replication,
                config=dict(spec.config),
            )
            for spec in specs
        ]
        with self._translating("create topics"):
            answers = self._client.create_topics(
                wanted, operation_timeout=self._timeout, request_timeout=self._timeout
            )
        for name, answer in answers.items():
            with self._translating(f"create {name}"):
                _unless(_TOPIC_EXISTS, answer)

    def _alter(self, changes: Iterable[Change]) -> None:
        resources = [
            ConfigResource(
                ResourceType.TOPIC,
                change.topic,
                incremental_configs=[
                    ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                    for name, value in change.config.items()
                ],
            )
            for change in changes
        ]
        with self._translating("alter topics"):
            answers = self._client.incremental_alter_configs(
                resources, request_timeout=self._timeout
            )
        for resource, answer in answers.items():
            with self._translating(f"alter {resource.name}"):
                answer.result()

    def _await(self, expected: Mapping[str, Mapping[str, str]]) -> None:
        """The controller has changed these topics; the brokers hear of it a moment later."""
        deadline = monotonic_ms() + self._timeout * 1000
        while waiting := self._not_shown(expected):
            if monotonic_ms() > deadline:
                raise BrokerUnreachable(f"changed, but not shown yet: {', '.join(waiting)}")
            sleep(POLL)

    def _not_shown(self, expected: Mapping[str, Mapping[str, str]]) -> list[str]:
        found = self.describe(expected.keys())
        return [
            name
            for name, config in expected.items()
            if name not in found or not config.items() <= found[name].config.items()
        ]

    def _translating(self, doing: str) -> AbstractContextManager[None]:
        return translating(f"{doing} at {self._bootstrap}")


def _unless(code: int, answer: "Future[T]") -> T | None:
    """The answer, or None where it is the error `code`."""
    try:
        return answer.result()
    except ck.KafkaException as exception:
        if exception.args[0].code() == code:
            return None
        raise
