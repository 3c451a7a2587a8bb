"""Two processes that say they are the same node, as after a copied configuration."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.waiting import until
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

CONFLICT = 4


def test_one_of_them_dies_and_says_why(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    first = crew.scheduler("one-disk", NODE_ID="same")
    installation.put(installation.load())
    first.until_owning(PARTITIONS)
    second = crew.scheduler("another-disk", NODE_ID="same")
    until(lambda: first.has_ended or second.has_ended, "one of them ends")
    loser, winner = (first, second) if first.has_ended else (second, first)
    assert loser.exit_code() == CONFLICT
    (line,) = loser.logged("scheduler_died")
    assert "another process has started as node same-0" in line["message"]
    partitions = winner.until_owning(PARTITIONS)
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())
