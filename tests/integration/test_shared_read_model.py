"""Two gateways as real processes over one PostgreSQL: any answers, and one that dies is no gap."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.gateway.postgres import postgres_or_skip
from tests.integration.gateway_process import GatewayProcess
from tests.integration.test_gateway import make_topics, until, write_history
from tocsin.broker.local import BrokerAddress
from tocsin.client import Client

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]

DAILY = {"cron": "0 7 * * *"}
NOOP = {"type": "noop"}


@pytest.fixture
def postgres_url() -> Iterator[str]:
    with postgres_or_skip() as url:
        yield url


def test_a_killed_gateway_leaves_no_gap_and_no_double(
    broker: BrokerAddress, prefix: str, postgres_url: str, tmp_path: Path
) -> None:
    topics = make_topics(broker.bootstrap, prefix)
    settings = {"BROKERS": broker.bootstrap, "PREFIX": prefix, "DATABASE_URL": postgres_url}
    with ExitStack() as stack:
        first = stack.enter_context(GatewayProcess(tmp_path, settings))
        second = stack.enter_context(GatewayProcess(tmp_path, settings))
        one, two = (stack.enter_context(each.client()) for each in (first, second))
        put = one.put("a", schedule=DAILY, handler=NOOP)
        until(lambda: two.get("a") == put)
        write_history(broker.bootstrap, topics, 2_000)
        until(lambda: succeeded(one) > 0)
        first.kill()
        until(lambda: succeeded(two) == 2_000)
        after = two.put("b", schedule=DAILY, handler=NOOP)

        assert two.get("b") == after
        assert len({run.run_id for run in two.runs("a", page_size=500)}) == succeeded(two)


def succeeded(client: Client) -> int:
    return client.stats().occurrences.get("succeeded", 0)
