"""The disk under the local stores is full for a while: Kafka has all, and nothing is lost."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.remembering import judge_stores
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]


def test_it_goes_on_when_there_is_room_again(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    disk = crew.own_disk("a")
    node = crew.scheduler("a", NODE_ID="a")
    installation.put(installation.load())
    ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
    disk.fill(node.pid)
    node.until_logged("store_damaged")
    disk.empty(node.pid)
    ledger.until_fired(node.until_owning(PARTITIONS), clock.now_ms())
    judge(installation, ledger, clock.now_ms())
    node.terminate()
    assert node.exit_code() == 0
    judge_stores(installation, [crew.disk("a")])
