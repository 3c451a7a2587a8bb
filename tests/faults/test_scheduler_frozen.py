"""SIGSTOP of a scheduler until another has what was its, then SIGCONT."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.moments import freeze_in_transaction
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]


NOTICED = ("fenced", "partitions_lost")
"""By its producer, or, where whatever that was about has timed out, by the group."""


@pytest.mark.parametrize("node_id", ["", "a"], ids=["dynamic", "static"])
def test_it_is_fenced_and_serves_again(
    crew: Crew, installation: Installation, ledger: Ledger, node_id: str
) -> None:
    """What its open transaction had written never counts: all of it was due, and is there once."""
    frozen, other = crew.scheduler("a", NODE_ID=node_id), crew.scheduler("b")
    installation.put(installation.load())
    partitions = frozen.until_owning(PARTITIONS // 2)
    ledger.until_fired(partitions, clock.now_ms())
    frozen_at = freeze_in_transaction(frozen, partitions, installation)
    other.until_owning(PARTITIONS)
    ledger.until_fired(partitions, frozen_at)
    frozen.wake()
    frozen.until(lambda: any(map(frozen.logged, NOTICED)), "notices what it has lost")
    partitions = frozen.until_owning(PARTITIONS // 2)
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())
