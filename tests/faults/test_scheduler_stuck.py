"""A scheduler whose loop stands still for longer than its group waits for it.

The client goes on with its heartbeats meanwhile, leaves the place in the group when the time is up,
and joins anew; a static member meets itself there.
"""

from time import sleep

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

IMPATIENT = {"KAFKA__SESSION_TIMEOUT_MS": "6000", "KAFKA__MAX_POLL_INTERVAL_MS": "6500"}
"""No less than the session; 30 s is usual."""
STUCK_S = 10.0
TIMES = 3


@pytest.mark.parametrize("node_id", ["", "a"], ids=["dynamic", "static"])
def test_it_comes_back(
    crew: Crew, installation: Installation, ledger: Ledger, node_id: str
) -> None:
    settings = {"NODE_ID": node_id, **IMPATIENT}
    node = crew.stuck_scheduler("a", STUCK_S, **settings)
    installation.put(installation.load())
    for _ in range(TIMES):
        ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
        node.get_stuck()
        ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms() + int(STUCK_S * 1_000))
    judge(installation, ledger, clock.now_ms())


def test_frozen_for_longer_than_that_it_comes_back(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    settings = {"NODE_ID": "a", **IMPATIENT}
    node = crew.scheduler("a", **settings)
    installation.put(installation.load())
    for _ in range(TIMES):
        ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
        node.freeze()
        sleep(STUCK_S)
        node.wake()
        ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
    judge(installation, ledger, clock.now_ms())
