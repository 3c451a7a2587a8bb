"""`kill -9` of a scheduler in mid-transaction."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.moments import freeze_in_transaction
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

TAKEOVER_MS = 25_000
"""A session of 6 s has to end first; the rest is room for a busy machine, far from the time-out of
something that nobody has fenced. How fast it is, a benchmark measures."""
KILLS = 3


def test_a_survivor_takes_over_and_every_occurrence_is_accounted_once(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    victim, survivor = crew.scheduler("a"), crew.scheduler("b")
    installation.put(installation.load())
    for kill in range(KILLS):
        partitions = victim.until_owning(PARTITIONS // 2)
        ledger.until_fired(partitions, clock.now_ms())
        killed_at = freeze_in_transaction(victim, partitions, installation)
        victim.kill()
        took_ms = ledger.until_fired(partitions, killed_at) - killed_at
        print(f"takeover {kill}: {took_ms} ms")
        assert took_ms <= TAKEOVER_MS
        victim, survivor = survivor, crew.scheduler(f"c{kill}")
    judge(installation, ledger, clock.now_ms())
