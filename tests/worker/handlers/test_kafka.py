"""The handler `kafka` against a real cluster."""

import asyncio
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker.worlds import World, kafka_world, opened, read
from tests.worker.handlers.kafka_support import (
    OWN_PREFIX,
    kafka_handler,
    kafka_run,
    silent_broker,
)
from tocsin.broker.local import BrokerAddress
from tocsin.broker.port import Record, TopicPartition
from tocsin.model.runs import Error, Run
from tocsin.settings import load_settings
from tocsin.wire.partitions import partition_of
from tocsin_worker.handlers.kafka.clusters import clusters_of
from tocsin_worker.handlers.kafka.handler import KafkaHandler
from tocsin_worker.handlers.port import Equipment, HandlerFailed
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

pytestmark = pytest.mark.kafka


@pytest.fixture
def world(broker: BrokerAddress, prefix: str) -> Iterator[World]:
    with opened(kafka_world(broker.bootstrap, prefix)) as world:
        yield world


def perform(handler: KafkaHandler, *runs: Run) -> list[dict[str, Any]]:
    """The results, decoded."""

    async def main() -> list[dict[str, Any]]:
        try:
            answers = [await handler.execute(run, CONTEXT) for run in runs]
        finally:
            await handler.close()
        return [json.loads(answer.result or b"") for answer in answers]

    return asyncio.run(main())


def failure(handler: KafkaHandler, run: Run) -> Error:
    with pytest.raises(HandlerFailed) as caught:
        perform(handler, run)
    return caught.value.error


def written(world: World, topic: str, partition: int = 0) -> Record:
    """The first record of the partition."""
    reader = world.reader()
    reader.assign({TopicPartition(topic, partition): 0})
    return read(reader, 1)[0]


def test_the_payload_is_a_record_once_the_run_has_succeeded(
    world: World, broker: BrokerAddress
) -> None:
    topic = world.topic()
    run = kafka_run(topic, {"format": "pdf"}, key="acme", headers={"kind": "daily"})
    (result,) = perform(kafka_handler(broker), run)
    assert result == {"topic": topic, "partition": 0, "offset": 0}
    record = written(world, topic)
    assert (record.key, json.loads(record.value or b"")) == (b"acme", {"format": "pdf"})
    assert dict(record.headers) == {
        "kind": b"daily",
        "idempotency-key": run.run_id.encode(),
        "tocsin-job-id": b"job",
        "tocsin-tenant": b"acme",
        "tocsin-scheduled-time": b"2026-01-01T00:00:00.000Z",
        "tocsin-attempt": b"1",
        "traceparent": dict(record.headers)["traceparent"],
    }


@pytest.mark.parametrize(
    ("payload", "config", "value"),
    [
        ("Grüße", {"headers": {"content-type": "text/plain"}}, "Grüße".encode()),
        ("Grüße", {}, '"Grüße"'.encode()),
        ("AP8=", {"payload_encoding": "base64"}, b"\x00\xff"),
        (None, {"key": "gone"}, None),
    ],
)
def test_the_payload_becomes_bytes_as_for_http(
    world: World, broker: BrokerAddress, payload: object, config: dict[str, Any], value: bytes
) -> None:
    topic = world.topic()
    perform(kafka_handler(broker), kafka_run(topic, payload, **config))
    assert written(world, topic).value == value


@pytest.mark.parametrize(
    ("config", "partition"),
    [
        ({}, lambda key: partition_of(key, 7)),
        ({"partitioner": "murmur2"}, lambda key: partition_of(key, 7)),
        ({"partitioner": "crc32"}, lambda key: zlib.crc32(key) % 7),
        ({"partition": 5}, lambda key: 5),
    ],
)
def test_the_partition_is_the_one_that_other_producers_choose(
    world: World,
    broker: BrokerAddress,
    config: dict[str, Any],
    partition: Callable[[bytes], int],
) -> None:
    topic = world.topic(7)
    keys = [f"key-{n}" for n in range(12)]
    results = perform(kafka_handler(broker), *(kafka_run(topic, 1, key=k, **config) for k in keys))
    assert [result["partition"] for result in results] == [partition(k.encode()) for k in keys]


def test_records_may_be_spread_at_random(world: World, broker: BrokerAddress) -> None:
    topic = world.topic(3)
    runs = [kafka_run(topic, 1, key="same", partitioner="random") for _ in range(60)]
    assert {result["partition"] for result in perform(kafka_handler(broker), *runs)} == {0, 1, 2}


def test_another_cluster_is_one_that_the_operator_has_named(
    world: World, broker: BrokerAddress
) -> None:
    topic = world.topic()
    others = {"analytics": {"bootstrap.servers": "secret://where", "client.rack": "r1"}}
    handler = kafka_handler(broker, others, where=broker.bootstrap)
    perform(handler, kafka_run(topic, 1, cluster="analytics"))
    assert written(world, topic).value == b"1"


@pytest.mark.parametrize(
    ("cluster", "told"), [("elsewhere", "TOCSIN_CLUSTERS"), ("locked", "no secret 'absent'")]
)
def test_a_cluster_that_this_worker_does_not_know_may_be_known_to_another(
    broker: BrokerAddress, cluster: str, told: str
) -> None:
    others = {"locked": {"bootstrap.servers": "secret://absent"}}
    error = failure(kafka_handler(broker, others), kafka_run("t", 1, cluster=cluster))
    assert (error.code, error.permanent) == ("invalid", False)
    assert told in error.message


def test_no_job_writes_to_tocsin_s_own_topics(broker: BrokerAddress) -> None:
    error = failure(kafka_handler(broker), kafka_run(f"{OWN_PREFIX}.runs.high", 1))
    assert (error.code, error.permanent) == ("target_refused", True)


@pytest.mark.parametrize("config", [{}, {"partitioner": "crc32", "key": "k"}])
def test_a_topic_that_is_not_there_is_a_permanent_failure(
    broker: BrokerAddress, prefix: str, config: dict[str, Any]
) -> None:
    error = failure(kafka_handler(broker), kafka_run(f"{prefix}.absent", 1, **config))
    assert (error.code, error.permanent) == ("connect", True)
    assert f"{prefix}.absent" in error.message


def test_b140_a_record_that_the_topic_does_not_take_is_refused_alone(
    world: World, broker: BrokerAddress
) -> None:
    topic = world.topic()
    handler = kafka_handler(broker)

    async def main() -> None:
        try:
            with pytest.raises(HandlerFailed) as caught:
                await handler.execute(kafka_run(topic, "x" * 2_200_000), CONTEXT)
            assert (caught.value.error.code, caught.value.error.permanent) == ("invalid", True)
            await handler.execute(kafka_run(topic, "small"), CONTEXT)
        finally:
            await handler.close()

    asyncio.run(main())
    assert written(world, topic).value == b'"small"'


def test_a_tombstone_without_a_key_is_a_permanent_failure(broker: BrokerAddress) -> None:
    error = failure(kafka_handler(broker), kafka_run("t"))
    assert (error.code, error.permanent) == ("invalid", True)


def test_what_was_never_acknowledged_is_a_failure_worth_a_retry(broker: BrokerAddress) -> None:
    """Here because the worker stops; it may stand in the log all the same."""

    async def main() -> None:
        async with silent_broker() as (address, asked):
            others = {"silent": {"bootstrap.servers": address}}
            handler = kafka_handler(broker, others)
            attempt = asyncio.ensure_future(
                handler.execute(kafka_run("t", 1, cluster="silent"), CONTEXT)
            )
            await asked.wait()
            await handler.close()
            with pytest.raises(HandlerFailed) as caught:
                await attempt
            assert (caught.value.error.code, caught.value.error.permanent) == ("connect", False)

    asyncio.run(main())


def test_a_cluster_that_does_not_answer_holds_up_no_other(
    world: World, broker: BrokerAddress
) -> None:
    """It is asked how many partitions a topic has, by more runs than any pool has threads."""

    async def main() -> None:
        async with silent_broker() as (address, asked):
            handler = kafka_handler(broker, {"silent": {"bootstrap.servers": address}})
            lost = kafka_run("t", 1, cluster="silent", key="k", partitioner="crc32")
            silent = [asyncio.ensure_future(handler.execute(lost, CONTEXT)) for _ in range(64)]
            await asked.wait()
            async with asyncio.timeout(5):
                await handler.execute(kafka_run(world.topic(), 1), CONTEXT)
                assert await asyncio.to_thread(lambda: "anything") == "anything"
            assert not any(attempt.done() for attempt in silent)
            for attempt in silent:
                attempt.cancel()
            await handler.close()

    asyncio.run(main())


def test_a_cluster_with_wrong_properties_is_a_failure_that_another_worker_may_mend(
    broker: BrokerAddress,
) -> None:
    others = {"a": {"bootstrap.servers": broker.bootstrap, "security.protocol": "bogus"}}
    error = failure(kafka_handler(broker, others), kafka_run("t", 1, cluster="a"))
    assert (error.code, error.permanent) == ("invalid", False)
    assert "bogus" in error.message


class TestClustersFile:
    def equipment(self, file: Path) -> Equipment:
        settings = load_settings({"TOCSIN_CLUSTERS": str(file), "TOCSIN_BROKERS": "h:1"})
        return Equipment("w-1", settings, Secrets(None, {}))

    @pytest.mark.parametrize(
        ("text", "told"),
        [
            ("- a", "expected names of clusters"),
            ("a: {security.protocol: SSL}", "cluster 'a' needs bootstrap.servers"),
            ("a: [", "TOCSIN_CLUSTERS"),
        ],
    )
    def test_what_is_wrong_in_it_is_a_sentence_at_the_start(
        self, tmp_path: Path, text: str, told: str
    ) -> None:
        file = tmp_path / "clusters.yaml"
        file.write_text(text)
        with pytest.raises(ValueError, match="TOCSIN_CLUSTERS") as caught:
            clusters_of(self.equipment(file))
        assert told in str(caught.value)

    def test_numbers_and_truths_are_as_the_client_writes_them(
        self, tmp_path: Path, world: World, broker: BrokerAddress
    ) -> None:
        file = tmp_path / "clusters.yaml"
        file.write_text(
            f"a:\n  bootstrap.servers: {broker.bootstrap}\n"
            "  socket.keepalive.enable: true\n  linger.ms: 1\n"
        )
        handler = KafkaHandler(clusters_of(self.equipment(file)), Secrets(None, {}), OWN_PREFIX)
        topic = world.topic()
        perform(handler, kafka_run(topic, 1, cluster="a"))
        assert written(world, topic).value == b"1"
