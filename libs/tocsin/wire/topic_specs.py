"""What the topics of an installation must be like, and how far those of a cluster are from it.

The specification is `ops/topics.yaml`. Everything here is pure: what there is comes in as
`ExistingTopic`s, what is to be done goes out as `Change`s.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Final, Literal

import msgspec
import yaml

from tocsin.model.jobs import PRIORITIES
from tocsin.model.values import Value
from tocsin.resources import resource_path
from tocsin.wire.topics import DEFAULT_POOL, Topics

Setting = str | int | bool
Count = Annotated[int, msgspec.Meta(ge=1)]
ChangeKind = Literal["create", "alter", "drift"]

NAMES: Final = frozenset(
    {"jobs", "signals", "outcomes", "state", "runs", "events", "dead"}
    | {"cancels", "workers", "access", "audit"}
)
MIN_ISR: Final = "min.insync.replicas"

# Settings of which more does no harm; -1 is without end.
_FLOORS: Final = frozenset(
    {"retention.ms", "min.compaction.lag.ms", "delete.retention.ms", "max.message.bytes", MIN_ISR}
)


class InvalidTopicFile(ValueError):
    """A specification of topics that is not of its form; the message says where."""


class TopicSpec(Value, frozen=True, kw_only=True):
    """One topic as it must be. `config` holds only what Tocsin relies on."""

    name: str
    partitions: int
    replication: int
    config: dict[str, str]


class ExistingTopic(Value, frozen=True, kw_only=True):
    """One topic as it is; `config` as it takes effect, defaults of the cluster included."""

    name: str
    partitions: int
    replication: int
    config: dict[str, str]


class Change(Value, frozen=True, kw_only=True):
    """A difference, and what becomes of it.

    create: make the topic of `spec`. alter: set `config`. drift: nothing that `apply` can do.
    message: a sentence for a person.
    """

    kind: ChangeKind
    spec: TopicSpec
    config: dict[str, str] = msgspec.field(default_factory=dict)
    message: str

    @property
    def topic(self) -> str:
        return self.spec.name


class _Entry(Value, frozen=True, kw_only=True):
    partitions: Count | None = None
    config: dict[str, Setting] = msgspec.field(default_factory=dict)


class TopicFile(Value, frozen=True, kw_only=True):
    """`ops/topics.yaml`, read. `partitions` and `config` are those of topics that say nothing."""

    partitions: Count
    replication: Count
    config: dict[str, Setting]
    topics: dict[str, _Entry]

    def expand(
        self,
        topics: Topics,
        pools: Iterable[str] = (DEFAULT_POOL,),
        *,
        partitions: int | None = None,
        replication: int | None = None,
    ) -> list[TopicSpec]:
        """The topics of one installation; both numbers are the file's own unless given.

        `partitions` is for all topics whose number the file does not fix.
        """
        replicas = replication or self.replication
        return [
            TopicSpec(
                name=name,
                partitions=entry.partitions or partitions or self.partitions,
                replication=replicas,
                config=_settings(self.config | entry.config, replicas),
            )
            for kind, entry in self.topics.items()
            for name in _names(topics, kind, tuple(pools))
        ]


def read_topics(text: str) -> TopicFile:
    """A specification in YAML; raises `InvalidTopicFile`."""
    try:
        found = msgspec.convert(yaml.safe_load(text), TopicFile)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise InvalidTopicFile(f"topics: {error}") from error
    differing = NAMES ^ found.topics.keys()
    if differing:
        raise InvalidTopicFile(f"topics: missing or unknown: {', '.join(sorted(differing))}")
    return found


@cache
def shipped_topics() -> TopicFile:
    """The specification that comes with this release."""
    return read_topics((resource_path("ops") / "topics.yaml").read_text("utf-8"))


def plan(specs: Sequence[TopicSpec], existing: Mapping[str, ExistingTopic]) -> list[Change]:
    """What separates `existing`, by name, from `specs`; nothing where they agree."""
    return [change for spec in specs for change in _changes(spec, existing.get(spec.name))]


def _names(topics: Topics, kind: str, pools: Sequence[str]) -> list[str]:
    if kind == "runs":
        return [topics.runs(priority, pool) for pool in pools for priority in PRIORITIES]
    return [f"{topics.prefix}.{kind}"]


def _settings(config: Mapping[str, Setting], replicas: int) -> dict[str, str]:
    """As Kafka writes them; fewer than three replicas leave one to lose, if there are two."""
    settings = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in config.items()
    }
    if MIN_ISR in settings:
        settings[MIN_ISR] = str(min(int(settings[MIN_ISR]), max(1, replicas - 1)))
    return settings


def _changes(spec: TopicSpec, found: ExistingTopic | None) -> Iterator[Change]:
    if found is None:
        message = f"{spec.name} is missing; create it with {spec.partitions} partitions"
        yield Change(kind="create", spec=spec, message=f"{message} x {spec.replication} replicas")
        return
    if found.partitions != spec.partitions:
        yield Change(kind="drift", spec=spec, message=_partition_drift(spec, found))
    if found.replication < spec.replication:
        message = (
            f"{spec.name} has {found.replication} replicas, wanted are {spec.replication}; "
            "add them with Kafka's own kafka-reassign-partitions"
        )
        yield Change(kind="drift", spec=spec, message=message)
    config = {
        name: value
        for name, value in spec.config.items()
        if not _satisfies(name, found.config.get(name), value)
    }
    if config:
        message = _alteration(spec, found, config)
        yield Change(kind="alter", spec=spec, config=config, message=message)


def _partition_drift(spec: TopicSpec, found: ExistingTopic) -> str:
    prefix = spec.name.partition(".")[0]
    return (
        f"{spec.name} has {found.partitions} partitions, wanted are {spec.partitions}; the number "
        f"is fixed for life: ask for {found.partitions}, or make new topics under another prefix "
        f"than {prefix!r} and copy the jobs there"
    )


def _alteration(spec: TopicSpec, found: ExistingTopic, differing: Mapping[str, str]) -> str:
    parts = (
        f"{name} is {found.config.get(name, 'unset')}, wanted is {value}"
        for name, value in differing.items()
    )
    return f"{spec.name}: {'; '.join(parts)}"


def _satisfies(name: str, found: str | None, wanted: str) -> bool:
    if found is None or name not in _FLOORS:
        return found == wanted
    if "-1" in (found, wanted):
        return found == "-1"
    return int(found) >= int(wanted)
