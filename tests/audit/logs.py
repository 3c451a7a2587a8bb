"""The log of a simulated partition, put into a cluster as its scheduler would have written it."""

from collections.abc import Iterable

from tests.scheduler.world import TOPICS, World
from tocsin.model.events import Event
from tocsin.model.jobs import PRIORITIES
from tocsin.model.runs import Outcome, Run
from tocsin.model.state import Watermark
from tocsin.testing import MemoryCluster, SettableClock
from tocsin.wire.codec import EVENT, OUTCOME, RUN, WATERMARK

RUN_PARTITIONS = 3
POOLS = ("default", "absent")


def empty_cluster(partitions: int = 1, *, now_ms: int | None = None) -> MemoryCluster:
    """All topics that an audit reads, without a record."""
    cluster = MemoryCluster(SettableClock() if now_ms is None else SettableClock(now_ms))
    for name in (TOPICS.jobs, TOPICS.state):
        cluster.create_topic(name, partitions, compacted=True)
    for name in (TOPICS.events, TOPICS.outcomes):
        cluster.create_topic(name, partitions)
    for pool in POOLS:
        for priority in PRIORITIES:
            cluster.create_topic(TOPICS.runs(priority, pool), RUN_PARTITIONS)
    return cluster


def cluster_of(
    world: World,
    *,
    runs: Iterable[Run] | None = None,
    events: Iterable[Event] | None = None,
) -> MemoryCluster:
    """What the world's scheduler has written; `runs` and `events` stand for what it says there."""
    cluster = empty_cluster(now_ms=world.now)
    producer = cluster.producer()
    for event in world.log.events if events is None else events:
        producer.produce(TOPICS.events, str(event.key).encode(), EVENT.encode(event))
    for run in world.log.runs if runs is None else runs:
        topic = TOPICS.runs(run.priority, run.pool)
        producer.produce(topic, run.run_id.encode(), RUN.encode(run))
    for outcome in world.log.outcomes:
        producer.produce(TOPICS.outcomes, outcome.key, outcome.value)
    for key, value in world.log.state:
        producer.produce(TOPICS.state, key, value)
    put_watermark(cluster, watermark_of(world))
    return cluster


def watermark_of(world: World) -> Watermark:
    log = world.log
    return Watermark(
        place=log.place,
        jobs=log.committed.jobs,
        signals=log.committed.signals,
        outcomes=log.committed.outcomes,
        owner="",
        time=world.now,
    )


def put_watermark(cluster: MemoryCluster, watermark: Watermark, partition: int = 0) -> None:
    key = f"%watermark/{partition}".encode()
    cluster.producer().produce(TOPICS.state, key, WATERMARK.encode(watermark), partition)


def say(cluster: MemoryCluster, outcome: Outcome) -> None:
    key = str(outcome.key).encode()
    cluster.producer().produce(TOPICS.outcomes, key, OUTCOME.encode(outcome))
