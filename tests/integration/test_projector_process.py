"""The projector's process beside that of its gateway: each may die, hang or be told to stop."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.gateway_process import PATIENCE, GatewayProcess
from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.local import BrokerAddress
from tocsin.client import Client
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

NOOP = {"type": "noop"}
HOURLY = {"every": "1h"}


@pytest.fixture
def gateway(broker: BrokerAddress, prefix: str, tmp_path: Path) -> Iterator[GatewayProcess]:
    admin = TopicAdmin(broker.bootstrap)
    admin.apply(admin.plan(shipped_topics().expand(Topics(prefix), partitions=2, replication=1)))
    with GatewayProcess(tmp_path, {"BROKERS": broker.bootstrap, "PREFIX": prefix}) as process:
        process.url()
        yield process


def until(met: Callable[[], bool]) -> None:
    end = clock.monotonic_ms() + PATIENCE * 1000
    while not met():
        assert clock.monotonic_ms() < end, "it never came to be"


def said(gateway: GatewayProcess, action: str) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in gateway.log.read_text().splitlines() if line[:1] == "{"]
    return [line for line in lines if line.get("action") == action]


def projector(gateway: GatewayProcess, life: int = 1) -> int:
    """The pid of its projector in its first life, or a later one."""
    until(lambda: len(said(gateway, "projector_started")) >= life)
    return int(str(said(gateway, "projector_started")[life - 1]["pid"]))


def is_alive(pid: int) -> bool:
    """A zombie is not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def put_many(client: Client, name: str, number: int) -> list[str]:
    with ThreadPoolExecutor(8) as pool:
        jobs = pool.map(
            lambda n: client.put(f"{name}-{n}", schedule=HOURLY, handler=NOOP), range(number)
        )
        return [job.job_id for job in jobs]


def test_a_projector_that_is_killed_again_and_again_loses_no_command(
    gateway: GatewayProcess,
) -> None:
    with gateway.client() as client, ThreadPoolExecutor(1) as beside:
        for life in (1, 2, 3):
            writing = beside.submit(put_many, client, f"life{life}", 40)
            os.kill(projector(gateway, life), signal.SIGKILL)
            assert len(writing.result(PATIENCE)) == 40
        listed = {job.job_id for job in client.list()}

    assert listed == {f"life{life}-{n}" for life in (1, 2, 3) for n in range(40)}
    assert [line["code"] for line in said(gateway, "projector_died")] == [-9, -9, -9]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_projector_ends_with_its_gateway(gateway: GatewayProcess, number: signal.Signals) -> None:
    pid = projector(gateway)
    gateway.process.send_signal(number)

    assert gateway.process.wait(PATIENCE) == (0 if number is signal.SIGTERM else -number)
    until(lambda: not is_alive(pid))


def test_what_a_terminal_sends_to_all_processes_leaves_the_end_to_the_gateway(
    gateway: GatewayProcess,
) -> None:
    pid = projector(gateway)
    with gateway.client() as client:
        client.put("a", schedule=HOURLY, handler=NOOP)
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(pid, number)
        client.put("b", schedule=HOURLY, handler=NOOP)

    assert is_alive(pid)
    assert gateway.stop() == 0
    assert said(gateway, "projector_died") == []


def test_a_frozen_projector_holds_up_neither_reads_nor_the_end(gateway: GatewayProcess) -> None:
    pid = projector(gateway)
    with gateway.client() as client:
        client.put("a", schedule=HOURLY, handler=NOOP)
        os.kill(pid, signal.SIGSTOP)

        assert client.get("a").job_id == "a"
    assert gateway.stop() == 0
    assert not is_alive(pid)
