"""A node's disk holds what it has kept for another installation."""

import shutil

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.stores import replace_stores
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]


@pytest.mark.parametrize("renamed", [False, True], ids=["as it was", "under the node's own names"])
def test_it_is_recognised_and_not_used(
    crew: Crew, installation: Installation, ledger: Ledger, renamed: bool
) -> None:
    node = crew.scheduler("a", NODE_ID="a")
    installation.put(installation.load())
    ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
    node.kill()
    if renamed:
        assert replace_stores(crew.disk("a"), crew.foreign_disk()) == PARTITIONS
    else:
        shutil.rmtree(crew.disk("a"))
        shutil.copytree(crew.foreign_disk() / "elsewhere-0", crew.disk("a") / "a-0")
    node = crew.scheduler("a", NODE_ID="a")
    partitions = node.until_owning(PARTITIONS)
    cold = node.logged("restore_cold")
    assert {line["partition"] for line in cold} == partitions
    assert all(("another cluster" in line["reason"]) is renamed for line in cold)
    ledger.until_fired(partitions, clock.now_ms())
    judge(installation, ledger, clock.now_ms())
