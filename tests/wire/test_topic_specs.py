"""The specification of topics, and the plan from what there is to what must be."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.wire.topic_specs import (
    Change,
    ExistingTopic,
    InvalidTopicFile,
    TopicSpec,
    plan,
    read_topics,
    shipped_topics,
)
from tocsin.wire.topics import Topics

TOPICS = Topics("acme")
DAY_MS = 86_400_000


def specs(**numbers: int) -> dict[str, TopicSpec]:
    """The shipped specification for one installation, by name."""
    expanded = shipped_topics().expand(TOPICS, ["default", "gpu"], **numbers)
    return {spec.name: spec for spec in expanded}


def as_specified(spec: TopicSpec, **changes: object) -> ExistingTopic:
    """A topic that is just as it must be, but for `changes`."""
    config = {**spec.config, "segment.jitter.ms": "0"}
    found = ExistingTopic(
        name=spec.name, partitions=spec.partitions, replication=spec.replication, config=config
    )
    return msgspec.structs.replace(found, **changes)


def changes_of(found: ExistingTopic, spec: TopicSpec) -> list[Change]:
    return plan([spec], {found.name: found})


def test_there_is_a_topic_for_every_name_and_every_pool() -> None:
    runs = {TOPICS.runs(p, pool) for p in ("high", "normal", "low") for pool in ("default", "gpu")}
    others = {TOPICS.jobs, TOPICS.signals, TOPICS.outcomes, TOPICS.state, TOPICS.events}
    broadcast = {TOPICS.dead, TOPICS.cancels, TOPICS.workers, TOPICS.access, TOPICS.audit}
    assert specs().keys() == runs | others | broadcast


def test_the_topics_a_job_has_a_place_in_have_one_number_of_partitions() -> None:
    for number in (1, 8, 32):
        expanded = specs(partitions=number)
        jobs_own = [TOPICS.jobs, TOPICS.signals, TOPICS.outcomes, TOPICS.state, TOPICS.events]
        assert {expanded[name].partitions for name in jobs_own} == {number}
    assert specs()[TOPICS.jobs].partitions == 32


@pytest.mark.parametrize(
    ("topic", "cleanup", "days"),
    [
        ("jobs", "compact", None),
        ("signals", "delete", 7),
        ("outcomes", "delete", 7),
        ("state", "compact", None),
        ("runs.high", "delete", 8),
        ("runs.gpu.low", "delete", 8),
        ("events", "delete", 30),
        ("dead", "delete", 30),
        ("cancels", "delete", 7),
        ("workers", "compact", None),
        ("access", "compact", None),
        ("audit", "delete", 90),
    ],
)
def test_records_are_kept_as_long_as_the_protocol_needs_them(
    topic: str, cleanup: str, days: int | None
) -> None:
    config = specs()[f"acme.{topic}"].config
    assert config["cleanup.policy"] == cleanup
    assert config.get("retention.ms") == (None if days is None else str(days * DAY_MS))
    assert config.get("retention.bytes") == (None if days is None else "-1")


def test_the_compacted_topics_keep_edits_for_a_day_and_tombstones_for_a_week() -> None:
    expanded = specs()
    assert expanded[TOPICS.jobs].config["min.compaction.lag.ms"] == str(DAY_MS)
    for name in (TOPICS.jobs, TOPICS.state):
        assert expanded[name].config["delete.retention.ms"] == str(7 * DAY_MS)


@pytest.mark.parametrize(("replication", "in_sync"), [(1, "1"), (2, "1"), (3, "2"), (5, "2")])
def test_one_replica_may_be_lost_where_there_are_two(replication: int, in_sync: str) -> None:
    for spec in specs(replication=replication).values():
        assert spec.replication == replication
        assert spec.config["min.insync.replicas"] == in_sync
        assert spec.config["message.timestamp.type"] == "LogAppendTime"
        assert spec.config["max.message.bytes"] == "1048576"
        assert spec.config["unclean.leader.election.enable"] == "false"


def test_an_empty_cluster_needs_every_topic() -> None:
    changes = plan(list(specs().values()), {})
    assert {change.kind for change in changes} == {"create"}
    assert {change.topic for change in changes} == specs().keys()


@given(st.sampled_from([1, 8, 32]), st.sampled_from([1, 2, 3]))
def test_nothing_is_planned_for_topics_that_are_as_specified(
    partitions: int, replication: int
) -> None:
    wanted = specs(partitions=partitions, replication=replication)
    found = {name: as_specified(spec) for name, spec in wanted.items()}
    assert plan(list(wanted.values()), found) == []


def test_another_number_of_partitions_is_drift_and_names_the_way_out() -> None:
    spec = specs()[TOPICS.jobs]
    (change,) = changes_of(as_specified(spec, partitions=8), spec)
    assert change.kind == "drift"
    assert "acme.jobs has 8 partitions, wanted are 32" in change.message
    assert "fixed for life" in change.message
    assert "another prefix than 'acme'" in change.message


def test_too_few_replicas_are_drift_and_more_are_fine() -> None:
    spec = specs()[TOPICS.jobs]
    (change,) = changes_of(as_specified(spec, replication=1), spec)
    assert (change.kind, change.config) == ("drift", {})
    assert "acme.jobs has 1 replicas, wanted are 3" in change.message
    assert changes_of(as_specified(spec, replication=4), spec) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cleanup.policy", "delete"),
        ("message.timestamp.type", "CreateTime"),
        ("min.compaction.lag.ms", "0"),
        ("delete.retention.ms", "86400000"),
        ("max.message.bytes", "1000000"),
        ("min.insync.replicas", "1"),
        ("unclean.leader.election.enable", "true"),
    ],
)
def test_a_setting_that_is_too_little_or_another_is_altered(name: str, value: str) -> None:
    spec = specs()[TOPICS.jobs]
    (change,) = changes_of(as_specified(spec, config={**spec.config, name: value}), spec)
    assert (change.kind, change.config) == ("alter", {name: spec.config[name]})
    assert f"{name} is {value}, wanted is {spec.config[name]}" in change.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("retention.ms", "9999999999"),
        ("retention.ms", "-1"),
        ("max.message.bytes", "2000000"),
        ("min.insync.replicas", "3"),
    ],
)
def test_a_setting_that_keeps_more_is_left_alone(name: str, value: str) -> None:
    spec = specs()[TOPICS.signals]
    assert changes_of(as_specified(spec, config={**spec.config, name: value}), spec) == []


def test_all_differences_of_a_topic_are_planned_together() -> None:
    spec = specs()[TOPICS.signals]
    found = as_specified(
        spec, partitions=1, replication=1, config={**spec.config, "retention.bytes": "5"}
    )
    assert [change.kind for change in changes_of(found, spec)] == ["drift", "drift", "alter"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[", "topics: "),
        ("partitions: 0\nreplication: 1\nconfig: {}\ntopics: {}", "partitions"),
        ("partitions: 1\nreplication: 1\nconfig: {}\ntopics: {}", "missing or unknown: access"),
        ("partitions: 1\nreplicas: 1\nconfig: {}\ntopics: {}", "replicas"),
        ("", "topics: "),
    ],
)
def test_a_specification_that_is_none_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(InvalidTopicFile, match=sentence):
        read_topics(text)
