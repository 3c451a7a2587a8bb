"""What the cluster in memory offers beyond the port: accidents on demand."""

import pytest

from tests.broker.listeners import Recorder
from tocsin.broker.errors import BrokerUnreachable, Die, Fenced, OutcomeUnknown, Rebuild
from tocsin.broker.port import Delivered, TopicPartition, TransactionalProducer
from tocsin.testing import MemoryCluster, SettableClock

PLACE = TopicPartition("t", 0)


@pytest.fixture
def cluster() -> MemoryCluster:
    cluster = MemoryCluster(SettableClock(now_ms=1_000))
    cluster.create_topic("t", 1)
    return cluster


def test_a_planned_fault_strikes_once_before_the_call_has_an_effect(
    cluster: MemoryCluster,
) -> None:
    producer = _with_open_transaction(cluster)
    cluster.faults.plan("commit", OutcomeUnknown("no answer"))
    with pytest.raises(OutcomeUnknown):
        producer.commit(1)
    assert cluster.records("t", 0) == []
    producer.commit(1)
    assert [r.value for r in cluster.records("t", 0)] == [b"v"]


def test_a_planned_fault_may_strike_after_the_effect(cluster: MemoryCluster) -> None:
    producer = _with_open_transaction(cluster)
    cluster.faults.plan("commit", OutcomeUnknown("the answer was lost"), applied=True)
    with pytest.raises(OutcomeUnknown):
        producer.commit(1)
    assert [r.value for r in cluster.records("t", 0)] == [b"v"]


def test_faults_of_one_call_come_in_the_order_planned(cluster: MemoryCluster) -> None:
    reader = cluster.log_reader()
    cluster.faults.plan("end_offsets", BrokerUnreachable("first"))
    cluster.faults.plan("end_offsets", Rebuild("second"))
    with pytest.raises(BrokerUnreachable):
        reader.end_offsets([PLACE], 1)
    with pytest.raises(Rebuild):
        reader.end_offsets([PLACE], 1)
    assert reader.end_offsets([PLACE], 1) == {PLACE: 0}


def test_an_abandoned_transaction_ends_by_its_time_out(cluster: MemoryCluster) -> None:
    producer = _with_open_transaction(cluster)
    cluster.expire_transactions()
    assert cluster.records("t", 0) == []
    assert cluster.log_reader().end_offsets([PLACE], 1) == {PLACE: 2}
    with pytest.raises(Fenced):
        producer.commit(1)


def test_append_times_are_the_clocks(cluster: MemoryCluster) -> None:
    producer = _with_open_transaction(cluster)
    cluster.clock.advance(30)
    producer.commit(1)
    assert producer.last_append == (1_000, 30)


def test_a_topic_made_again_is_another_topic(cluster: MemoryCluster) -> None:
    before = cluster.topics(["t"], 1)["t"].topic_id
    cluster.delete_topic("t")
    assert cluster.topics(["t"], 1) == {}
    cluster.create_topic("t", 1)
    assert cluster.topics(["t"], 1)["t"].topic_id != before
    with pytest.raises(ValueError, match="exists"):
        cluster.create_topic("t", 1)


def test_operators_may_reset_and_forget_offsets(cluster: MemoryCluster) -> None:
    reader = cluster.log_reader("g")
    cluster.reset_offset("g", PLACE, 7)
    assert reader.committed([PLACE], 1) == {PLACE: (7, "")}
    cluster.forget_offsets("g")
    assert reader.committed([PLACE], 1) == {PLACE: (None, "")}


def test_a_missing_topic_or_partition_is_named(cluster: MemoryCluster) -> None:
    reader = cluster.log_reader()
    with pytest.raises(Die, match=r"t\[5\]"):
        reader.end_offsets([TopicPartition("t", 5)], 1)
    report = cluster.producer().send("missing", b"k", b"v")
    assert not report.done()
    with pytest.raises(Die, match="missing"):
        cluster.group_member("g").join("missing", Recorder())


def test_a_report_arrives_only_when_it_is_polled_for(cluster: MemoryCluster) -> None:
    producer = cluster.producer()
    report = producer.send("t", b"k", b"v")
    assert not report.done()
    assert producer.poll(0) == 1
    assert report.result() == Delivered("t", 0, 0, 1_000)


def test_a_report_nobody_waits_for_any_more_is_dropped(cluster: MemoryCluster) -> None:
    producer = cluster.producer()
    report = producer.send("t", b"k", b"v")
    report.cancel()
    producer.flush(1)
    assert report.cancelled()


def _with_open_transaction(cluster: MemoryCluster) -> TransactionalProducer:
    producer = cluster.transactional_producer("tx")
    producer.init(1)
    producer.begin()
    producer.produce("t", b"k", b"v")
    return producer
