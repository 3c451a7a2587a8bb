"""Topics that an operator has deleted and made again: others, under the names of the former.

Each time the new topic has more records than the former had, so that the offsets which were
committed in that one exist in this one, too.
"""

from uuid import uuid4

import pytest

from tests.scheduler.nodes import TOPICS, Town
from tests.scheduler.outcomes import outcome_of
from tocsin.model.keys import JobKey
from tocsin.model.signals import Signal
from tocsin.wire.codec import SIGNAL
from tocsin_scheduler.shell.log_identity import LogWatch
from tocsin_scheduler.store.memory import MemoryStores

FEW, MANY = 4, 20
each_disk = pytest.mark.parametrize("keeps_disk", [True, False], ids=["its disk", "no disk"])


@pytest.fixture
def town() -> Town:
    return Town()


def make_again(town: Town, topic: str) -> MemoryStores:
    """While no scheduler is there; what the disk of the one that was there holds."""
    disk = town.kill(town.nodes[0])
    town.make_again(topic)
    return disk


def start(town: Town, disk: MemoryStores | None) -> None:
    node = town.node("b", disk)
    town.settle(20)
    assert node.loop.tenures.owned


def alarms(town: Town) -> bool:
    pages = (node.metrics.exposition().decode() for node in town.nodes)
    return any('tocsin_alarms_total{action="topic_made_again"} 0.0' not in page for page in pages)


def trigger(town: Town, number: int) -> None:
    for _ in range(number):
        signal = Signal(signal="trigger", signal_id=str(uuid4()), overlap="allow_all")
        key = str(JobKey("default", "by-hand")).encode()
        town.producer.produce(TOPICS.signals, key, SIGNAL.encode(signal))


@each_disk
def test_each_job_of_a_new_jobs_topic_fires_from_its_creation_on(
    town: Town, keeps_disk: bool
) -> None:
    for number in range(FEW):
        town.put(f"old-{number}")
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    disk = make_again(town, TOPICS.jobs)
    for number in range(MANY):
        town.put(f"new-{number}")
    town.pass_time(2_000)
    start(town, disk if keeps_disk else None)
    town.pass_time(1_000)
    assert [town.times(f"old-{number}") for number in range(FEW)] == [[1, 2]] * FEW
    assert [town.times(f"new-{number}") for number in range(MANY)] == [[3, 4, 5]] * MANY
    assert town.doubled() == []
    assert alarms(town)


@each_disk
def test_each_signal_of_a_new_signals_topic_is_carried_out(town: Town, keeps_disk: bool) -> None:
    town.put("by-hand", every_s=86_400)
    town.put("by-time")
    town.node("a")
    town.settle()
    trigger(town, FEW)
    town.pass_time(2_000)
    disk = make_again(town, TOPICS.signals)
    trigger(town, MANY)
    start(town, disk if keeps_disk else None)
    town.pass_time(1_000)
    assert len(town.times("by-hand")) == FEW + MANY
    assert town.times("by-time") == [1, 2, 3]
    assert town.doubled() == []
    assert alarms(town)


@each_disk
def test_each_outcome_of_a_new_outcomes_topic_counts(town: Town, keeps_disk: bool) -> None:
    """A job does not run before its last run has ended; other jobs' outcomes are there, too."""
    town.put("one-at-a-time", overlap="skip")
    for number in range(MANY):
        town.put(f"other-{number}")
    town.node("a")
    town.settle()
    town.pass_time(1_000)
    runs = {run.job_id: run for run in town.runs()}
    for number in range(FEW):
        town.say(outcome_of(runs[f"other-{number}"], "succeeded", town.clock.now_ms()))
    town.pass_time(2_000)
    disk = make_again(town, TOPICS.outcomes)
    for run in runs.values():
        town.say(outcome_of(run, "succeeded", town.clock.now_ms()))
    start(town, disk if keeps_disk else None)
    town.pass_time(3_000)
    ran, skipped = town.times("one-at-a-time"), town.skipped("one-at-a-time")
    assert ran[1] in (3, 4)
    assert sorted([*ran, *skipped])[:5] == [1, 2, 3, 4, 5]
    assert town.doubled() == []
    assert alarms(town)


@each_disk
def test_without_the_state_topic_it_goes_on_from_the_groups_offsets(
    town: Town, keeps_disk: bool
) -> None:
    for number in range(FEW):
        town.put(f"job-{number}")
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    disk = make_again(town, TOPICS.state)
    start(town, disk if keeps_disk else None)
    town.pass_time(1_000)
    assert [town.times(f"job-{number}") for number in range(FEW)] == [[1, 2, 3]] * FEW
    assert town.doubled() == []
    assert alarms(town)


def test_what_is_as_it_was_raises_no_alarm(town: Town) -> None:
    town.put("job")
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    start(town, town.kill(town.nodes[0]))
    assert not alarms(town)


@pytest.mark.parametrize("topic", [TOPICS.jobs, TOPICS.signals, TOPICS.outcomes, TOPICS.state])
def test_a_running_scheduler_notices_when_the_topic_is_there_again(town: Town, topic: str) -> None:
    watch = LogWatch(town.cluster, TOPICS, town.log)
    watch.look(1.0)
    assert not watch.has_changed
    town.cluster.delete_topic(topic)
    watch.look(1.0)
    assert not watch.has_changed
    town.cluster.create_topic(topic, town.partitions)
    watch.look(1.0)
    assert watch.has_changed
