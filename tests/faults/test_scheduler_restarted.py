"""The same scheduler killed in mid-transaction and started again: same node id, no other there."""

import shutil

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.moments import freeze_in_transaction
from tests.faults.processes import Service
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

RESTARTS = 2


def test_it_goes_on_from_its_store(crew: Crew, installation: Installation, ledger: Ledger) -> None:
    node = crew.scheduler("a", NODE_ID="a")
    installation.put(installation.load())
    for _ in range(RESTARTS):
        kill_in_transaction(node, installation, ledger)
        node = crew.scheduler("a", NODE_ID="a")
    partitions = node.until_owning(PARTITIONS)
    assert node.logged("restore_cold") == []
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())


def test_it_goes_on_without_its_store(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    node = crew.scheduler("a", NODE_ID="a")
    installation.put(installation.load())
    kill_in_transaction(node, installation, ledger)
    shutil.rmtree(crew.disk("a"))
    node = crew.scheduler("a", NODE_ID="a")
    partitions = node.until_owning(PARTITIONS)
    assert {line["partition"] for line in node.logged("restore_cold")} == partitions
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())


def kill_in_transaction(node: Service, installation: Installation, ledger: Ledger) -> None:
    partitions = node.until_owning(PARTITIONS)
    ledger.until_fired(partitions, clock.now_ms())
    freeze_in_transaction(node, partitions, installation)
    node.kill()
