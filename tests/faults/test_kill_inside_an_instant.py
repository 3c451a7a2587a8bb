"""`kill -9` while what is due at one instant, more than a transaction takes, is being emitted."""

import signal

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

BURST = 12_000
"""More than two transactions of 5,000 runs hold."""
LEAD_MS = 8_000
SECOND = 2


@pytest.mark.parametrize("point", ["flush", "send_offsets", "committed"])
def test_the_rest_of_the_instant_is_emitted_by_a_survivor(
    crew: Crew, installation: Installation, ledger: Ledger, point: str
) -> None:
    victim = crew.fatal_scheduler("a", point, SECOND)
    victim.until_owning(PARTITIONS)
    installation.put(installation.burst(BURST, LEAD_MS))
    assert victim.exit_code() == -signal.SIGKILL
    ledger.read_committed()
    assert 0 < len(ledger.emitted) < BURST
    crew.scheduler("b").until_owning(PARTITIONS)
    judge(installation, ledger, clock.now_ms())
