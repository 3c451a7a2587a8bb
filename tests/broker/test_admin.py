"""Topics on a real broker."""

import socket
from time import monotonic

import pytest

from tocsin.broker.admin import TopicAdmin
from tocsin.broker.errors import BrokerUnreachable, Die
from tocsin.broker.local import BrokerAddress
from tocsin.wire.topic_specs import Change, TopicSpec, shipped_topics
from tocsin.wire.topics import Topics

pytestmark = pytest.mark.kafka


@pytest.fixture
def admin(broker: BrokerAddress) -> TopicAdmin:
    return TopicAdmin(broker.bootstrap)


def specs(prefix: str, partitions: int = 2, replication: int = 1) -> list[TopicSpec]:
    """A small installation."""
    return shipped_topics().expand(Topics(prefix), partitions=partitions, replication=replication)


def kinds(changes: list[Change]) -> set[str]:
    return {change.kind for change in changes}


def test_applied_topics_leave_nothing_to_plan(admin: TopicAdmin, prefix: str) -> None:
    wanted = specs(prefix)
    assert kinds(admin.plan(wanted)) == {"create"}
    admin.apply(admin.plan(wanted))
    assert admin.plan(wanted) == []
    assert admin.check(Topics(prefix)) == []
    assert admin.describe([f"{prefix}.state"])[f"{prefix}.state"].partitions == 2


def test_a_setting_that_was_changed_is_set_back_and_nothing_else(
    admin: TopicAdmin, prefix: str
) -> None:
    wanted = specs(prefix)
    admin.apply(admin.plan(wanted))
    jobs = wanted[0]
    meddled = {"cleanup.policy": "delete", "segment.ms": "1000", "retention.ms": "77"}
    admin.apply([Change(kind="alter", spec=jobs, config=meddled, message="")])
    (change,) = admin.check(Topics(prefix))
    assert change.config == {"cleanup.policy": "compact", "segment.ms": "86400000"}
    admin.apply([change])
    assert admin.check(Topics(prefix)) == []
    assert admin.describe([jobs.name])[jobs.name].config["retention.ms"] == "77"


def test_another_number_of_partitions_is_drift_that_apply_leaves(
    admin: TopicAdmin, prefix: str
) -> None:
    admin.apply(admin.plan(specs(prefix)))
    drift = admin.plan(specs(prefix, partitions=3))
    assert kinds(drift) == {"drift"}
    admin.apply(drift)
    assert admin.plan(specs(prefix, partitions=3)) == drift


def test_topics_that_do_not_agree_with_jobs_are_drift(admin: TopicAdmin, prefix: str) -> None:
    jobs, *others = specs(prefix)
    admin.apply(admin.plan([jobs]))
    admin.apply(
        admin.plan([spec for spec in specs(prefix, partitions=1) if spec.name != jobs.name])
    )
    drifted = {change.topic for change in admin.check(Topics(prefix)) if change.kind == "drift"}
    assert drifted == {spec.name for spec in others if spec.partitions == 2}


def test_a_missing_pool_is_told(admin: TopicAdmin, prefix: str) -> None:
    admin.apply(admin.plan(specs(prefix)))
    missing = admin.check(Topics(prefix), ["default", "gpu"])
    assert kinds(missing) == {"create"}
    assert {change.topic for change in missing} == {
        f"{prefix}.runs.gpu.{priority}" for priority in ("high", "normal", "low")
    }


def test_two_that_apply_at_once_do_not_disturb_each_other(admin: TopicAdmin, prefix: str) -> None:
    changes = admin.plan(specs(prefix))
    admin.apply(changes)
    admin.apply(changes)
    assert admin.check(Topics(prefix)) == []


def test_more_replicas_than_brokers_are_refused_by_name(admin: TopicAdmin, prefix: str) -> None:
    (jobs, *_) = specs(prefix, replication=100)
    with pytest.raises(Die, match=f"could not create {prefix}.jobs"):
        admin.apply(admin.plan([jobs]))


def test_an_unreachable_broker_is_told_within_the_time_given() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        admin = TopicAdmin(address, timeout=0.5)
        began = monotonic()
        with pytest.raises(BrokerUnreachable, match=address):
            admin.check(Topics("any"))
    assert monotonic() - began < 5
