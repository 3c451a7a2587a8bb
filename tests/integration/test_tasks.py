"""Python tasks from the first call to their results: all services, a real Kafka."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

import pytest

from tests.integration.gateway_process import GatewayProcess
from tests.integration.scheduler_process import PATIENCE, ROOT, SchedulerProcess
from tests.integration.waiting import eventually
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.local import BrokerAddress
from tocsin.client import Client
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

SHOP = """
    from tocsin.tasks import GiveUp, TaskContext, task

    @task(executor="process")
    def total(prices: list[int], tax: float = 0.2) -> float:
        return sum(prices) * (1 + tax)

    @task(retry={"max_attempts": 3, "initial": "1s", "jitter": "none"})
    async def second_time(run: TaskContext) -> int:
        if run.attempt == 1:
            raise ConnectionError("the ledger does not answer")
        return run.attempt

    @task
    def refuse() -> None:
        raise GiveUp("closed for good")
"""


@pytest.fixture
def client(broker: BrokerAddress, prefix: str, tmp_path: Path) -> Iterator[Client]:
    """A whole installation whose worker has the module `shop`, from its working folder."""
    admin = TopicAdmin(broker.bootstrap)
    specs = shipped_topics().expand(Topics(prefix), partitions=2, replication=1)
    admin.apply(admin.plan(specs))
    (tmp_path / "shop.py").write_text(dedent(SHOP))
    settings = {"BROKERS": broker.bootstrap, "PREFIX": prefix}
    with (
        SchedulerProcess(broker.bootstrap, prefix, tmp_path),
        worker(tmp_path, settings),
        GatewayProcess(tmp_path, settings) as gateway,
        gateway.client() as client,
    ):
        yield client


@contextmanager
def worker(folder: Path, settings: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """`tocsin worker --tasks shop`; stopped at the end."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("libs", "services")),
        "TOCSIN_LISTEN": "127.0.0.1:0",
        **{f"TOCSIN_{name}": value for name, value in settings.items()},
    }
    log = folder / f"worker-{uuid4().hex}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tocsin_cli", "worker", "--tasks", "shop"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=output,
        )
    try:
        yield process
        process.terminate()
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        process.kill()
        process.wait()


def test_tasks_are_enqueued_scheduled_retried_and_given_up(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    import shop  # type: ignore[import-not-found]

    once = shop.total.enqueue([10, 20], tax=0.5, delay="1s", client=client)
    again = shop.second_time.enqueue(client=client)
    never = shop.refuse.enqueue(client=client)
    shop.total.schedule("totals", every="1s", args=[[1, 2, 3], 0], client=client)

    assert client.wait_for_run(once.run_id, PATIENCE).result == 45.0
    second = client.wait_for_run(again.run_id, PATIENCE)
    assert (second.status, second.result) == ("succeeded", 2)
    first_error = second.attempts[0].error
    assert first_error is not None
    assert first_error.message.startswith("ConnectionError: the ledger does not answer")
    assert "shop.py" in first_error.message
    dead = client.wait_for_run(never.run_id, PATIENCE)
    assert (dead.status, dead.attempt) == ("dead", 1)
    eventually(
        lambda: [r.result for r in client.runs("totals", status="succeeded")][:2] == [6, 6],
        PATIENCE,
    )


def test_a_worker_told_to_import_nothing_says_so(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("libs", "services")),
        "TOCSIN_BROKERS": "127.0.0.1:1",
    }
    answer = subprocess.run(
        [sys.executable, "-m", "tocsin_cli", "worker", "--tasks", "nowhere"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        check=False,
    )
    assert answer.returncode == 2
    assert b"tasks: nowhere: there is no such module in" in answer.stderr
