"""A target that takes a run over: all services as real processes over a real Kafka."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest

from tests.integration.gateway_process import PATIENCE, GatewayProcess
from tests.integration.scheduler_process import SchedulerProcess
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.local import BrokerAddress
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

WORKER = Path(__file__).with_name("worker_process.py")


@pytest.fixture
def gateway(broker: BrokerAddress, prefix: str, tmp_path: Path) -> Iterator[GatewayProcess]:
    """With a scheduler and a worker behind it."""
    admin = TopicAdmin(broker.bootstrap)
    specs = shipped_topics().expand(Topics(prefix), partitions=2, replication=1)
    admin.apply(admin.plan(specs))
    allow = {"TOCSIN_HTTP_ALLOW": "127.0.0.0/8"}
    with ExitStack() as stack:
        scheduler = SchedulerProcess(broker.bootstrap, prefix, tmp_path / "s")
        worker = SchedulerProcess(
            broker.bootstrap, prefix, tmp_path / "w", program=WORKER, environment=allow
        )
        (tmp_path / "g").mkdir()
        settings = {"BROKERS": broker.bootstrap, "PREFIX": prefix}
        gateway = GatewayProcess(tmp_path / "g", settings)
        for process in (scheduler, worker, gateway):
            stack.enter_context(process)
        yield gateway


class Target(ThreadingHTTPServer):
    """Takes every run over, and keeps what it was told of it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _TakesOver)
        self.taken: Queue[tuple[str, int]] = Queue()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class _TakesOver(BaseHTTPRequestHandler):
    server: Target

    def do_POST(self) -> None:
        self.send_response(202)
        self.send_header("Tocsin-Completion", "later")
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.server.taken.put(
            (self.headers["Idempotency-Key"], int(self.headers["Tocsin-Attempt"]))
        )

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        return None


@contextmanager
def target() -> Iterator[Target]:
    with Target() as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield server
        finally:
            server.shutdown()
            serving.join()


def complete(gateway: GatewayProcess, run_id: str, attempt: int, **how: object) -> dict[str, Any]:
    """As a target does it, with any HTTP client."""
    url = f"{gateway.url()}/v1/runs/{run_id}/complete"
    answer = httpx.post(url, json={"attempt": attempt, **how}, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def test_a_run_that_is_taken_over_fails_is_taken_over_again_and_succeeds(
    gateway: GatewayProcess,
) -> None:
    with target() as site, gateway.client() as client:
        client.put(
            "report",
            schedule={"cron": "0 0 1 1 *"},
            handler={"type": "http", "url": site.url},
            retry={"max_attempts": 3, "initial": 1, "jitter": "none"},
        )
        client.trigger("report")
        run_id, first = site.taken.get(timeout=PATIENCE)
        failed = complete(gateway, run_id, first, succeeded=False, error={"message": "no paper"})
        assert failed["status"] in {"retrying", "pending", "running", "deferred"}
        again, second = site.taken.get(timeout=PATIENCE)
        assert (again, second) == (run_id, 2)
        complete(gateway, run_id, second, succeeded=True, result={"rows": 3})
        ended = client.wait_for_run(run_id, PATIENCE)
        assert (ended.status, ended.result) == ("succeeded", {"rows": 3})
        assert [one.status for one in ended.attempts] == ["failed", "succeeded"]
        told = ended.attempts[0].error
        assert told is not None
        assert told.message == "no paper"
