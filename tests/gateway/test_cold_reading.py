"""A gateway that reads a compacted log for the first time holds what the scheduler holds."""

from random import Random
from typing import Literal, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gateway.fake_scheduler import FakeScheduler
from tests.gateway.harness import PARTITIONS, Harness, memory_cluster
from tocsin.broker.port import Record, TopicPartition
from tocsin.model.fold import Held
from tocsin.model.jobs import Handler, Job
from tocsin.model.keys import JobKey
from tocsin.testing import MemoryCluster
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB
from tocsin.wire.headers import IF_REVISION
from tocsin.wire.topics import Topics
from tocsin_gateway.projection.job_reads import JobReads

TOPICS = Topics()
JSON = b'{"schedule": {"every": "PT10S"}, "handler": {"type": "noop"}}'


class Command(NamedTuple):
    """A record that somebody writes. condition: on what is held then, on the past, or on nothing
    being there. is_judged: the scheduler acts after it; else it stands beside what comes next."""

    job_id: str
    value: Literal["json", "one", "two", "delete", "rubbish"]
    condition: Literal["", "held", "past", "none"]
    is_judged: bool


commands = st.lists(
    st.builds(
        Command,
        st.sampled_from(["a", "b"]),
        st.sampled_from(["json", "one", "two", "one", "two", "delete", "rubbish"]),
        st.sampled_from(["", "held", "held", "past", "none"]),
        st.booleans(),
    ),
    max_size=14,
)


def write(cluster: MemoryCluster, scheduler: FakeScheduler, command: Command) -> None:
    key = JobKey("default", command.job_id)
    held = scheduler.held.get(key)
    conditions = {"held": held.revision if held else 0, "past": 0, "none": "none"}
    condition = conditions.get(command.condition)
    headers = [] if condition is None else [(IF_REVISION, str(condition).encode())]
    values = {"json": JSON, "delete": None, "rubbish": b"rubbish"}
    values |= {owner: JOB.encode(whole(key, owner)) for owner in ("one", "two")}
    producer = cluster.producer()
    producer.produce(TOPICS.jobs, str(key).encode(), values[command.value], headers=headers)


def whole(key: JobKey, owner: str) -> Job:
    """A definition that nothing is left out of, so that it is not restated."""
    handler = Handler(type="noop")
    schedule = ScheduleFields(cron="0 7 * * *")
    return Job(
        tenant=key.tenant,
        job_id=key.job_id,
        schedule=schedule,
        handler=handler,
        status="active",
        owner=owner,
    )


def commit(cluster: MemoryCluster, scheduler: FakeScheduler) -> None:
    """As the scheduler does with each transaction: the offsets it has judged."""
    member = cluster.group_member(TOPICS.scheduler_group)
    producer = cluster.transactional_producer("scheduler.1")
    producer.init(1)
    producer.begin()
    offsets = {
        TopicPartition(TOPICS.jobs, p): (scheduler.judged(p), "v1 w=0 o=scheduler.1")
        for p in range(PARTITIONS)
    }
    producer.send_offsets(offsets, member.group_metadata(), 1)
    producer.commit(1)
    member.close()


@settings(max_examples=50)
@given(history=commands, chance=st.randoms(use_true_random=False))
def test_it_holds_what_the_scheduler_holds(
    tmp_path_factory: pytest.TempPathFactory, history: list[Command], chance: Random
) -> None:
    cluster = memory_cluster(TOPICS)
    scheduler = FakeScheduler(cluster, TOPICS, PARTITIONS)
    coming = list(history)

    def meanwhile() -> None:
        if coming and not coming[0].is_judged:
            write(cluster, scheduler, coming.pop(0))

    scheduler.before_restating = meanwhile  # type: ignore[method-assign]
    while coming:
        command = coming.pop(0)
        write(cluster, scheduler, command)
        if command.is_judged:
            scheduler.step()
            commit(cluster, scheduler)
    compact(cluster, scheduler, chance)

    with Harness(tmp_path_factory.mktemp("g"), cluster=cluster, scheduler=scheduler) as harness:
        harness.settle()
        reads = JobReads(harness.database)
        for name in ("a", "b"):
            key = JobKey("default", name)
            assert existing(reads.held(key)) == existing(scheduler.held.get(key))


def compact(cluster: MemoryCluster, scheduler: FakeScheduler, chance: Random) -> None:
    """Any record that the scheduler has judged may be gone, or be there still, where a later one
    of its key is judged too: `min.compaction.lag.ms` keeps what has not been judged, and what
    only that would replace."""
    for partition in range(PARTITIONS):
        below = scheduler.judged(partition)
        judged = [r for r in cluster.records(TOPICS.jobs, partition) if r.offset < below]
        last = {record.key: record.offset for record in judged}
        gone = {r.offset for r in judged if r.offset != last[r.key] and chance.random() < 0.5}

        def keep(record: Record, gone: set[int] = gone) -> bool:
            return record.offset not in gone

        cluster.compact(TOPICS.jobs, partition, keep)


def existing(held: Held | None) -> tuple[int, Job] | None:
    """Revision and definition of a job that exists."""
    return None if held is None or held.job is None else (held.revision, held.job)
