"""`kill -9` of a scheduler at a chosen point of a transaction."""

import signal

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

each_point = pytest.mark.parametrize("point", ["flush", "send_offsets", "committed"])
"""Records written, offsets in the transaction, committed but not yet in the local store."""

FIFTH = 5


@each_point
def test_a_survivor_takes_over(
    crew: Crew, installation: Installation, ledger: Ledger, point: str
) -> None:
    victim, other = crew.fatal_scheduler("a", point, FIFTH), crew.scheduler("b")
    installation.put(installation.load())
    assert victim.exit_code() == -signal.SIGKILL
    partitions = other.until_owning(PARTITIONS)
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())


@each_point
def test_it_goes_on_when_it_is_started_again(
    crew: Crew, installation: Installation, ledger: Ledger, point: str
) -> None:
    victim = crew.fatal_scheduler("a", point, FIFTH, NODE_ID="a")
    installation.put(installation.load())
    assert victim.exit_code() == -signal.SIGKILL
    partitions = crew.scheduler("a", NODE_ID="a").until_owning(PARTITIONS)
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())
