"""The local Kafka: starts usable, keeps its data, and never outlives its parent."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tocsin.broker.local import (
    BrokerAddress,
    LocalBrokerError,
    NothingToRun,
    background_broker,
    local_broker,
    reachable_broker,
    start_background,
    stop_background,
)
from tocsin.broker.local.docker import Docker
from tocsin.broker.local.errors import Unusable
from tocsin.broker.local.java import Java, find_java, kafka_version, new_cluster_id
from tocsin.broker.local.node import Node
from tocsin.broker.local.ports import free_port, is_free
from tocsin.broker.local.runtime import Finder, Runtime, choose_runtime

# A start takes 5 s on a free machine, and several times that on a busy one.
pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]


def cluster_id(bootstrap: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return str(admin.describe_cluster(request_timeout=10).result().cluster_id)


def create_topic(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(10)


def write(bootstrap: str, topic: str, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, value)
    assert producer.flush(10) == 0


def first_value(bootstrap: str, topic: str) -> bytes | None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(10)
    consumer.close()
    return message.value() if message else None


def servers_in(folder: Path) -> list[psutil.Process]:
    """Every live process that names `folder` in its command line."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if process.info["status"] != psutil.STATUS_ZOMBIE
        and any(str(folder) in word for word in process.info["cmdline"] or [])
    ]


def wait_until_gone(processes: list[psutil.Process]) -> list[psutil.Process]:
    return psutil.wait_procs(processes, timeout=15)[1]


def test_a_started_broker_takes_transactions_and_group_offsets_at_once(
    broker: BrokerAddress, prefix: str
) -> None:
    create_topic(broker.bootstrap, prefix)
    servers = {"bootstrap.servers": broker.bootstrap}
    consumer = Consumer({**servers, "group.id": prefix})
    producer = Producer({**servers, "transactional.id": prefix})
    producer.init_transactions(5)
    producer.begin_transaction()
    producer.produce(prefix, b"1")
    place = TopicPartition(prefix, 0, 7, metadata="v1")
    producer.send_offsets_to_transaction([place], consumer.consumer_group_metadata(), 5)
    producer.commit_transaction(5)
    (committed,) = consumer.committed([TopicPartition(prefix, 0)], timeout=5)
    consumer.close()
    assert (committed.offset, committed.metadata) == (7, "v1")


def test_a_topic_is_never_made_by_writing_to_it(broker: BrokerAddress, prefix: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.timeout.ms": 2_000})
    errors: list[object] = []
    producer.produce(prefix, b"1", on_delivery=lambda error, _: errors.append(error))
    producer.flush(10)
    assert [error is not None for error in errors] == [True]


def test_a_record_of_one_mebibyte_fits(broker: BrokerAddress, prefix: str) -> None:
    create_topic(broker.bootstrap, prefix)
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 2_000_000})
    value = os.urandom(1024 * 1024)
    producer.produce(prefix, value, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(10) == 0
    assert errors == [None]


def test_a_killed_broker_starts_again_on_the_same_port_with_its_data() -> None:
    with local_broker() as broker:
        bootstrap, cluster = broker.bootstrap, cluster_id(broker.bootstrap)
        create_topic(bootstrap, "kept")
        write(bootstrap, "kept", b"before the kill")
        broker.kill()
        assert not servers_in(broker.log.parent)
        broker.restart()
        assert (broker.bootstrap, cluster_id(bootstrap)) == (bootstrap, cluster)
        assert first_value(bootstrap, "kept") == b"before the kill"
    assert not servers_in(broker.log.parent)
    assert not broker.log.parent.exists(), "its data was temporary"


def test_a_given_folder_keeps_the_cluster_and_a_given_port_is_taken(tmp_path: Path) -> None:
    port = free_port()
    with local_broker(tmp_path, port) as broker:
        assert broker.bootstrap == f"127.0.0.1:{port}"
        cluster = cluster_id(broker.bootstrap)
    assert not servers_in(tmp_path)
    with local_broker(tmp_path, properties={"max.connections": "99"}) as broker:
        assert cluster_id(broker.bootstrap) == cluster


def test_kill_9_of_the_parent_leaves_neither_process_nor_data() -> None:
    program = """
import sys
from tocsin.broker.local import local_broker
with local_broker() as broker:
    print(broker.log.parent, flush=True)
    sys.stdin.read()
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert parent.stdout
    folder = Path(parent.stdout.readline().strip())
    servers = servers_in(folder)
    assert len(servers) == 2, "the guard and Java"
    parent.kill()
    parent.communicate()
    assert not wait_until_gone(servers)
    assert not folder.exists()


@pytest.fixture
def docker_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `docker` command that works; the folder lists its containers."""
    containers = tmp_path / "containers"
    containers.mkdir()
    fake = Path(__file__).with_name("fake_docker.py")
    path = os.pathsep.join(filter(None, sys.path))
    command = f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "{fake}" "$@"\n'
    (tmp_path / "docker").write_text(command)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_DOCKER", str(containers))
    return containers


def test_a_container_is_used_killed_and_restarted_like_a_process(docker_in_path: Path) -> None:
    with local_broker() as broker:
        assert len(list(docker_in_path.iterdir())) == 1
        create_topic(broker.bootstrap, "kept")
        broker.kill()
        assert not servers_in(broker.log.parent)
        broker.restart()
        write(broker.bootstrap, "kept", b"value")
    assert not servers_in(broker.log.parent)
    assert not list(docker_in_path.iterdir())


def test_a_background_broker_outlives_its_starter_until_it_is_stopped(tmp_path: Path) -> None:
    assert background_broker(tmp_path) is None
    try:
        started = start_background(tmp_path)
        assert start_background(tmp_path) == started == background_broker(tmp_path)
        assert cluster_id(started.bootstrap)
    finally:
        stopped = stop_background(tmp_path)
    assert stopped
    assert not servers_in(tmp_path)
    assert background_broker(tmp_path) is None
    assert not stop_background(tmp_path)


def test_a_reused_pid_is_not_taken_for_the_broker(tmp_path: Path) -> None:
    record = f'{{"pid": {os.getpid()}, "created": 1.0, "bootstrap": "h:1", "removal": []}}'
    (tmp_path / "broker.json").write_text(record)
    assert background_broker(tmp_path) is None
    assert not stop_background(tmp_path)


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(LocalBrokerError, match=f"port {port} of 127.0.0.1 is in use"):
            start_background(tmp_path, port)


def test_a_broker_that_dies_while_starting_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "meta.properties").write_text("version=1\nnode.id=2\ncluster.id=other\n")
    with (
        pytest.raises(LocalBrokerError, match=r"(?s)has ended while starting; .*log ends: .*node"),
        local_broker(tmp_path),
    ):
        pass
    assert not servers_in(tmp_path)


def test_a_setting_that_kafka_refuses_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(LocalBrokerError, match=r"Invalid value none for .*num\.io\.threads"),
        local_broker(tmp_path, properties={"num.io.threads": "none"}),
    ):
        pass


def test_a_named_cluster_is_used_as_it_is() -> None:
    with reachable_broker("kafka.example:9092") as address:
        assert address == BrokerAddress("kafka.example:9092")


def refusing(reason: str) -> Finder:
    def find() -> Runtime:
        raise Unusable(reason)

    return find


def test_docker_comes_first_and_java_second() -> None:
    docker, java = Docker("apache/kafka:1"), Java("java", Path("jars"))
    assert choose_runtime([lambda: docker, lambda: java]) == docker
    assert choose_runtime([refusing("no daemon"), lambda: java]) == java


def test_where_nothing_fits_one_sentence_says_what_to_install() -> None:
    with pytest.raises(NothingToRun) as refusal:
        choose_runtime([refusing("no Docker daemon answers"), refusing("no Java")])
    assert str(refusal.value) == (
        "no Kafka to use (no Docker daemon answers; no Java): install Docker and start its daemon, "
        "or install Java 17 or newer and Maven, or name a running broker in TOCSIN_BROKERS"
    )


def program(folder: Path, name: str, prints: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho '{prints}' >&2\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ('java version "1.8.0_402"', "Java 8 is too old"),
        ('openjdk version "11.0.22" 2024-01-16', "Java 11 is too old"),
        ("gibberish", "Java of unknown version is too old"),
        ('openjdk version "21" 2023-09-19', "Java without Maven"),
    ],
)
def test_java_must_be_17_and_have_maven_for_the_first_time(
    tmp_path: Path, version: str, reason: str
) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "java", version)
    environ = {"JAVA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "PATH": ""}
    with pytest.raises(Unusable, match=f"^{reason}$"):
        find_java(environ)


def test_a_missing_java_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"^no Java$"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_in_a_container_the_broker_is_published_on_loopback_alone(tmp_path: Path) -> None:
    node = Node(tmp_path, 19_092, 19_093)
    command = Docker("apache/kafka:1").command(node)
    assert command[:3] == ["docker", "run", "--rm"]
    assert "--publish=127.0.0.1:19092:19092" in command
    assert f"--volume={tmp_path}:{tmp_path}" in command
    assert command[-2:] == ["apache/kafka:1", str(node.configuration)]
    assert Docker("apache/kafka:1").removal(node)[-1] in "".join(command)


def test_the_configuration_leaves_no_placeholder(tmp_path: Path) -> None:
    node = Node(tmp_path, 19_092, 19_093, {"log.cleaner.backoff.ms": "100"})
    node.write_configuration("0.0.0.0")
    lines = node.configuration.read_text().splitlines()
    assert not [line for line in lines if "$" in line and not line.startswith("#")]
    assert "listeners=PLAINTEXT://0.0.0.0:19092,CONTROLLER://127.0.0.1:19093" in lines
    assert lines[-1] == "log.cleaner.backoff.ms=100"


def test_a_cluster_id_is_one_that_the_storage_tool_takes() -> None:
    ids = [new_cluster_id() for _ in range(500)]
    assert all(len(each) == 22 and not each.startswith("-") for each in ids)
    assert len(set(ids)) == 500


def test_a_free_port_stays_clear_of_outgoing_connections() -> None:
    port = free_port()
    assert is_free(port)
    assert port < 32_768


def test_the_kafka_version_is_read_from_the_pom() -> None:
    assert [part.isdigit() for part in kafka_version().split(".")] == [True] * 3
