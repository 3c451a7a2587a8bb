"""The broker of a scheduler goes away and comes back."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tocsin import clock
from tocsin.broker.local import LocalBroker

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]


@pytest.fixture
def bootstrap(own_broker: LocalBroker) -> str:
    return own_broker.bootstrap


@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_b142_a_broker_that_comes_back_is_taken_up_again(
    own_broker: LocalBroker, crew: Crew, installation: Installation, ledger: Ledger, how: str
) -> None:
    scheduler = crew.scheduler("a")
    installation.put(installation.load())
    partitions = scheduler.until_owning(PARTITIONS)
    ledger.until_fired(partitions, clock.now_ms())
    own_broker.kill() if how == "killed" else own_broker.stop()
    own_broker.restart()
    ledger.until_fired(partitions, clock.now_ms())
    installation.put(installation.every_second(8, "allow_all"))
    judge(installation, ledger, clock.now_ms())


def test_b156_a_scheduler_without_a_broker_ends_when_it_is_told(
    own_broker: LocalBroker, crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    """Nothing is handed over then; whoever comes next fences it, and all is accounted."""
    scheduler = crew.scheduler("a")
    installation.put(installation.load())
    ledger.until_fired(scheduler.until_owning(PARTITIONS), clock.now_ms())
    own_broker.kill()
    scheduler.terminate()
    assert scheduler.exit_code() == 0
    own_broker.restart()
    crew.scheduler("b").until_owning(PARTITIONS)
    judge(installation, ledger, clock.now_ms())
