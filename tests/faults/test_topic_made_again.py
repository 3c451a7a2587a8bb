"""A topic that the scheduler reads, or keeps its state in, is deleted and made again."""

from contextlib import closing

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.operator import Operator
from tests.faults.processes import Service
from tests.faults.waiting import until
from tocsin import clock
from tocsin.broker.port import TopicPartition

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

FEW, MANY = 40, 160
each_topic = pytest.mark.parametrize("name", ["jobs", "signals", "outcomes", "state"])


@pytest.mark.parametrize("name", ["jobs", "signals", "outcomes"])
def test_while_a_scheduler_runs(
    crew: Crew, installation: Installation, operator: Operator, name: str
) -> None:
    node = started(crew, installation)
    make_again(installation, operator, name)
    node.until_logged("log_changed")
    all_is_accounted(node, installation, name)


@each_topic
def test_while_no_scheduler_runs(
    crew: Crew, installation: Installation, operator: Operator, name: str
) -> None:
    node = started(crew, installation)
    node.kill()
    make_again(installation, operator, name)
    all_is_accounted(crew.scheduler("a", NODE_ID="a"), installation, name)


def started(crew: Crew, installation: Installation) -> Service:
    node = crew.scheduler("a", NODE_ID="a")
    installation.put(installation.every_second(FEW, "allow_all"))
    partitions = node.until_owning(PARTITIONS)
    with closing(Ledger(installation)) as ledger:
        ledger.until_fired(partitions, clock.now_ms())
    return node


def make_again(installation: Installation, operator: Operator, name: str) -> None:
    """With the jobs topic its jobs go. Others come, more than there were.

    A broker that tells of the new topic may for a moment still append to the former one's log.
    """
    topic = f"{installation.topics.prefix}.{name}"
    operator.delete_topic(topic)
    installation.make_topics()
    places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    until(lambda: not any(installation.high_watermarks(places).values()), "its log is a new one")
    if name == "jobs":
        installation.gone.update(installation.created)
    installation.put(installation.every_second(MANY, "allow_all"))


def all_is_accounted(node: Service, installation: Installation, name: str) -> None:
    node.until_logged("topic_made_again")
    partitions = node.until_owning(PARTITIONS)
    lines = node.logged("topic_made_again")
    assert {line["topics"] for line in lines} == {f"{installation.topics.prefix}.{name}"}
    with closing(Ledger(installation)) as ledger:
        ledger.until_fired(partitions, clock.now_ms())
        judge(installation, ledger, clock.now_ms())
