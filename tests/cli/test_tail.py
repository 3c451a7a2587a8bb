"""`tocsin tail` shows a record whatever is in it."""

import pytest

from tests.cli.conftest import Tocsin
from tocsin.testing import MemoryCluster

TOPIC = "tocsin.jobs"
DEEP = b"[" * 100_000


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> MemoryCluster:
    """The Kafka that the command reads."""
    made = MemoryCluster()
    made.create_topic(TOPIC, 1)
    monkeypatch.setenv("TOCSIN_BROKERS", "127.0.0.1:1")
    monkeypatch.setattr("tocsin.broker.kafka.KafkaCluster", lambda *_, **__: made)
    return made


@pytest.mark.parametrize("before", [b"", b'{"a": '], ids=["array", "object"])
def test_json_that_is_too_deep_is_shown_as_unreadable(
    tocsin: Tocsin, cluster: MemoryCluster, before: bytes
) -> None:
    value = before + DEEP
    producer = cluster.producer()
    for each in (value, b'{"a": 1}'):
        producer.produce(TOPIC, b"default/a", each, 0)
    said = tocsin("tail", "jobs")
    first, second = said.out.splitlines()

    assert said.code == 0
    assert f'"undecodable": "{value[:200].hex()}", "bytes": {len(value)}' in first
    assert second.endswith('{"a": 1}')
