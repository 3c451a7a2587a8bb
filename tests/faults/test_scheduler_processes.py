"""`tocsin scheduler --processes 2`: both work, and one that is killed is started again."""

import psutil
import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.processes import Service
from tests.faults.waiting import until
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]


def pids(parent: Service) -> set[int]:
    return {child.pid for child in psutil.Process(parent.pid).children()}


def owned(parent: Service) -> int:
    """How many partitions its processes own, by what they said last of each."""
    last = {line["partition"]: line["phase"] for line in parent.logged("partition_phase")}
    return list(last.values()).count("owned")


def test_one_that_is_killed_is_started_again(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    parent = crew.scheduler("a", "--processes", "2", NODE_ID="a")
    installation.put(installation.load())
    parent.until(lambda: owned(parent) == PARTITIONS, "all partitions are owned")
    parent.until(lambda: len(list(crew.disk("a").glob("a-*"))) == 2, "has two node places")
    before = pids(parent)
    ledger.until_fired(frozenset(range(PARTITIONS)), clock.now_ms())
    psutil.Process(min(before)).kill()
    parent.until_logged("process_ended")
    until(lambda: len(pids(parent) - before) == 1, "another process is there")
    for partition in range(PARTITIONS):
        ledger.until_fired({partition}, clock.now_ms())
    parent.terminate()
    assert parent.exit_code() == 0
    crew.scheduler("a", NODE_ID="a")
    judge(installation, ledger, clock.now_ms())
