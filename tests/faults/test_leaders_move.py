"""Leaders of partitions move between brokers again and again; the schedulers' group is stable.

Where Docker is what there is to run Kafka, a cluster of several containers is not tried.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.two_brokers import TwoBrokers, two_brokers
from tocsin import clock
from tocsin.broker.local.errors import Unusable
from tocsin.broker.local.java import find_java

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(900)]

MOVES = 3


@pytest.fixture
def brokers(tmp_path: Path) -> Iterator[TwoBrokers]:
    try:
        java = find_java()
    except Unusable as reason:
        pytest.skip(f"a cluster of two Kafkas needs Java and Maven: {reason}")
    with two_brokers(java, tmp_path / "kafka") as brokers:
        yield brokers


@pytest.fixture
def bootstrap(brokers: TwoBrokers) -> str:
    return brokers.bootstrap


@pytest.fixture
def installation(bootstrap: str, prefix: str) -> Iterator[Installation]:
    with closing(Installation(bootstrap, prefix, replication=2)) as installation:
        yield installation


def test_b143_every_partition_goes_on(
    crew: Crew, installation: Installation, ledger: Ledger, brokers: TwoBrokers
) -> None:
    jobs = installation.topics.jobs
    one, other = crew.scheduler("a"), crew.scheduler("b")
    for node in (one, other):
        node.until_owning(PARTITIONS // 2)
    installation.put(installation.every_second(50, "allow_all"))
    for move in range(MOVES):
        brokers.move_leaders_off(jobs, kill=move % 2 == 0)
        each_partition_goes_on(installation, ledger)
        brokers.move_leaders_back(jobs)
        each_partition_goes_on(installation, ledger)
    judge(installation, ledger, clock.now_ms())
    assert not one.has_ended
    assert not other.has_ended


def each_partition_goes_on(installation: Installation, ledger: Ledger) -> None:
    """Commands are read there, and what is due fires."""
    now = clock.now_ms()
    for number in range(PARTITIONS):
        ledger.until_fired({number}, now)
    new = installation.every_second(2 * PARTITIONS, "allow_all")
    installation.put(new)
    ids = {job.job_id for job in new}
    ledger.until(lambda: ids <= {run.job_id for run, _ in ledger.emitted}, "new jobs fire")
