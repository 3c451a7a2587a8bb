"""Tokens in the log of a real Kafka."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.integration.gateway_process import PATIENCE, GatewayProcess
from tests.integration.test_gateway import make_topics, until
from tocsin.broker.local import BrokerAddress
from tocsin.client import Client

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_gateway_that_others_can_reach_starts_with_the_first_token(
    broker: BrokerAddress,
    prefix: str,
    tmp_path: Path,
    processes: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TOCSIN_API_TOKEN", raising=False)
    make_topics(broker.bootstrap, prefix)

    def start(name: str, **settings: str) -> GatewayProcess:
        folder = tmp_path / name
        folder.mkdir()
        every = {"BROKERS": broker.bootstrap, "PREFIX": prefix, **settings}
        return processes.enter_context(GatewayProcess(folder, every))

    refused = start("refused", LISTEN="0.0.0.0:0")
    assert refused.process.wait(PATIENCE) == 2
    assert "tocsin token create" in refused.log.read_text()

    local = start("local")
    with local.client() as client:
        secret = client.create_token("ops", "admin", all_tenants=True).token
    url = start("public", LISTEN="0.0.0.0:0").url().replace("0.0.0.0", "127.0.0.1")
    until(lambda: httpx.get(f"{url}/healthz/ready").is_success)

    assert httpx.get(f"{url}/v1/jobs").status_code == 401
    with Client(url, token=secret, retries=20) as client:
        assert list(client.list()) == []
        client.revoke_token("ops")
    header = {"Authorization": f"Bearer {secret}"}
    until(lambda: httpx.get(f"{local.url()}/v1/jobs", headers=header).status_code == 401)
    assert secret not in local.log.read_text()
