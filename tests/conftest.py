"""One real Kafka for the whole test session, started when the first test asks for it."""

import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings

from tests.shared_broker import shared_broker
from tocsin.broker.local import BrokerAddress, LocalBroker, local_broker

# A busy machine is no finding: no deadlines. In CI the examples are the same for the same code, so
# that a red build is about the change; everywhere else they are new in every run.
settings.register_profile(
    "tocsin",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("ci", settings.get_profile("tocsin"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "tocsin")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerAddress]:
    """A Kafka that many tests share: the cluster at `TOCSIN_BROKERS` if set, else a local node.

    Tests keep apart by `prefix`; one that stops or kills its broker takes `own_broker`.
    """
    if brokers := os.environ.get("TOCSIN_BROKERS"):
        yield BrokerAddress(brokers)
        return
    folder = tmp_path_factory.getbasetemp()
    parallel = "PYTEST_XDIST_WORKER" in os.environ
    with shared_broker(folder.parent if parallel else folder) as address:
        yield address


@pytest.fixture
def own_broker() -> Iterator[LocalBroker]:
    """A local Kafka for one test, which may `kill()` and `restart()` it."""
    with local_broker() as broker:
        yield broker


@pytest.fixture
def prefix() -> str:
    """A prefix of topics, groups and transactions that no other test has."""
    return f"test-{uuid4().hex[:12]}"
