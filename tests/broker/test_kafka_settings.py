"""Who decides about a setting: the protocol, else the operator, else the default."""

from collections.abc import Callable

import pytest
from confluent_kafka import KafkaError

from tocsin.broker.admin import TopicAdmin
from tocsin.broker.errors import BrokerUnreachable, Die, PropertiesRefused
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.kafka.logs import PendingErrors
from tocsin.broker.kafka.settings import ClientSettings, Conf
from tocsin.broker.local.ports import free_port
from tocsin.broker.port import TopicPartition


def _confs(properties: dict[str, str]) -> list[Conf]:
    settings = ClientSettings("broker:9092", properties, "node-1")
    return [
        settings.admin(),
        settings.reader("g", "read_committed"),
        settings.member("g", "node-1", "read_uncommitted"),
        settings.producer(),
        settings.transactional("tx"),
    ]


def test_every_client_knows_the_brokers_and_its_own_name() -> None:
    for conf in _confs({}):
        assert conf["bootstrap.servers"] == "broker:9092"
        assert conf["client.id"] == "node-1"


def test_the_operators_properties_reach_every_client() -> None:
    for conf in _confs({"security.protocol": "ssl", "socket.timeout.ms": "77"}):
        assert conf["security.protocol"] == "ssl"
        assert conf["socket.timeout.ms"] == "77"


def test_what_the_protocol_rests_on_is_not_for_the_operator_to_change() -> None:
    asked = {
        "enable.auto.commit": "true",
        "isolation.level": "read_uncommitted",
        "partition.assignment.strategy": "range",
        "acks": "1",
        "enable.idempotence": "false",
        "partitioner": "random",
        "transactional.id": "mine",
        "allow.auto.create.topics": "true",
        "client.id": "mine",
    }
    _, reader, member, producer, transactional = _confs(asked)
    assert reader["isolation.level"] == "read_committed"
    assert reader["enable.auto.commit"] is False
    assert member["partition.assignment.strategy"] == "cooperative-sticky"
    assert producer["acks"] == transactional["acks"] == "all"
    assert producer["enable.idempotence"] is True
    assert producer["partitioner"] == "murmur2_random"
    assert transactional["transactional.id"] == "tx"
    assert member["allow.auto.create.topics"] is False
    assert member["client.id"] == "node-1"


def test_only_a_static_member_has_an_instance_id() -> None:
    settings = ClientSettings("broker:9092", {}, "node-1")
    assert "group.instance.id" not in settings.member("g", None, "read_committed")
    assert settings.member("g", "n", "read_committed")["group.instance.id"] == "n"


def test_a_dead_address_is_told_within_the_time_given(
    caplog: pytest.LogCaptureFixture,
) -> None:
    cluster = KafkaCluster(f"127.0.0.1:{free_port()}")
    place = TopicPartition("t", 0)
    producer, reader = cluster.transactional_producer("tx"), cluster.log_reader("g")
    with pytest.raises(BrokerUnreachable):
        producer.init(0.3)
    with pytest.raises(BrokerUnreachable):
        reader.end_offsets([place], 0.3)
    with pytest.raises(BrokerUnreachable):
        reader.committed([place], 0.3)
    with pytest.raises(BrokerUnreachable):
        cluster.cluster_id(0.3)
    with pytest.raises(BrokerUnreachable):
        cluster.topics(["t"], 0.3)
    with pytest.raises(BrokerUnreachable):
        cluster.fence("tx", 0.3)
    assert reader.poll_batch(1, 0.3) == []
    reader.close()
    producer.close()
    assert "Connection refused" in caplog.text


def test_an_error_that_will_not_pass_waits_for_the_next_call() -> None:
    pending = PendingErrors()
    pending.error_cb(KafkaError(KafkaError._TRANSPORT, "Connection refused"))
    pending.raise_first()
    pending.error_cb(KafkaError(KafkaError._AUTHENTICATION, "bad password"))
    with pytest.raises(Die, match="bad password"):
        pending.raise_first()
    pending.raise_first()


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        ({"foo": "bar"}, 'No such configuration property: "foo"'),
        ({"security.protocol": "bogus"}, 'Invalid value "bogus"'),
        ({"default.topic.config": "x"}, "make a Kafka client"),
    ],
)
def test_properties_that_cannot_be_are_refused_by_every_client(
    properties: dict[str, str], told: str
) -> None:
    cluster = KafkaCluster("broker:9092", properties)
    makers: list[Callable[[], object]] = [
        lambda: TopicAdmin("broker:9092", properties),
        lambda: cluster.cluster_id(0.3),
        lambda: cluster.topics(["t"], 0.3),
        lambda: cluster.topic_names(0.3),
        lambda: cluster.group_member("g"),
        lambda: cluster.group_consumer("g"),
        cluster.log_reader,
        cluster.producer,
        lambda: cluster.transactional_producer("tx"),
        lambda: cluster.share_consumer("g", "t", max_records=1),
    ]
    for make in makers:
        with pytest.raises(PropertiesRefused, match=told):
            make()
