"""An installation for each test, and the processes that the test starts there."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import Installation
from tests.faults.ledger import Ledger
from tests.faults.operator import Operator
from tocsin.broker.local import BrokerAddress


@pytest.fixture
def bootstrap(broker: BrokerAddress) -> str:
    """Of the Kafka that the installation is in; tests that stop theirs name their own."""
    return broker.bootstrap


@pytest.fixture
def installation(bootstrap: str, prefix: str) -> Iterator[Installation]:
    with closing(Installation(bootstrap, prefix)) as installation:
        yield installation


@pytest.fixture
def operator(bootstrap: str, installation: Installation) -> Operator:
    return Operator(bootstrap, installation.topics)


@pytest.fixture
def ledger(installation: Installation) -> Iterator[Ledger]:
    with closing(Ledger(installation)) as ledger:
        yield ledger


@pytest.fixture
def crew(bootstrap: str, prefix: str, tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(tmp_path, bootstrap, prefix)
    yield crew
    crew.end()
