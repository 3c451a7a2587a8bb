"""What a worker does whatever its runs come from: a consumer group or a share group."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection

import pytest

from tests.worker.shared_cluster import shared
from tests.worker.support import TOPICS, memory_cluster, outcomes
from tests.worker.test_node import Gate, emit, fresh_run, until, worker
from tocsin.broker.port import Cluster
from tocsin.model.runs import Cancel
from tocsin.testing import MemoryCluster
from tocsin.wire import codec
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.intake.share_lane import OVERDUE_MS, Held, ShareLane
from tocsin_worker.node import Exit
from tocsin_worker.options import Source

PARTITIONS = 2
every_source = pytest.mark.parametrize("source", ["group", "share"])


def play(scenario: Callable[[MemoryCluster, Cluster], Awaitable[None]]) -> None:
    async def main() -> None:
        memory = memory_cluster(partitions=PARTITIONS)
        await scenario(memory, shared(memory))

    asyncio.run(main())


def said(memory: MemoryCluster, kind: str) -> list[str]:
    """Run ids of all outcomes of a kind."""
    return [o.run_id for o in outcomes(memory, PARTITIONS) if o.kind == kind]


@every_source
def test_each_run_is_executed_once(source: Source) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        runs = [fresh_run(f"job-{n}") for n in range(400)]
        emit(memory, *runs)
        gate = Gate(opened=True)
        async with worker(cluster, gate, source=source, slots=16) as running:
            await until(lambda: len(said(memory, "succeeded")) == len(runs))
            assert await running.stopped() is Exit.DONE
        assert sorted(gate.entered) == sorted(run.run_id for run in runs)

    play(scenario)


@every_source
def test_what_was_done_is_not_given_to_the_next_worker(source: Source) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, *(fresh_run(f"job-{n}") for n in range(20)))
        async with worker(cluster, source=source) as running:
            await until(lambda: len(said(memory, "succeeded")) == 20)
            await running.stopped()
        second = Gate(opened=True)
        async with worker(cluster, second, name="w-2", source=source):
            emit(memory, fresh_run("last"))
            await until(lambda: len(said(memory, "succeeded")) == 21)
        assert len(second.entered) == 1

    play(scenario)


@every_source
def test_no_more_are_begun_than_there_are_slots(source: Source) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, *(fresh_run(f"job-{n}") for n in range(20)))
        gate = Gate()
        async with worker(cluster, gate, source=source, slots=3) as running:
            await until(lambda: len(gate.entered) == 3)
            assert running.node.executing == 3
            gate.gate.set()
            await until(lambda: len(said(memory, "succeeded")) == 20)

    play(scenario)


@every_source
def test_a_cancelled_run_is_stopped_and_one_that_waits_is_not_begun(source: Source) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        first, second = fresh_run("first"), fresh_run("second")
        gate = Gate()
        async with worker(cluster, gate, source=source, slots=1):
            emit(memory, first)
            await until(lambda: gate.entered == [first.run_id])
            emit(memory, second)
            for run in (second, first):
                value = codec.CANCEL.encode(Cancel(run_id=run.run_id, attempt=1))
                memory.producer().produce(TOPICS.cancels, run.run_id.encode(), value)
            await until(lambda: set(said(memory, "cancelled")) == {first.run_id, second.run_id})
        assert gate.entered == [first.run_id]

    play(scenario)


@every_source
def test_told_to_stop_it_finishes_what_runs_and_the_next_worker_does_the_rest(
    source: Source,
) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        runs = [fresh_run(f"job-{n}") for n in range(10)]
        emit(memory, *runs)
        first, second = Gate(), Gate(opened=True)
        async with worker(cluster, first, source=source, slots=2) as running:
            await until(lambda: len(first.entered) == 2)
            running.node.stop()
            async with worker(cluster, second, name="w-2", source=source):
                handed_on = set(said(memory, "declined"))
                await until(lambda: len(second.entered) + len(set(said(memory, "declined"))) == 8)
                first.gate.set()
                assert await running.task is Exit.DONE
        assert handed_on <= {run.run_id for run in runs}
        executed = Counter(first.entered + second.entered)
        assert set(executed.values()) == {1}

    play(scenario)


@every_source
def test_a_record_that_is_no_run_is_passed_over(source: Source) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        memory.producer().produce(TOPICS.runs("normal"), b"k", b"garbage", 0)
        emit(memory, fresh_run("job"))
        async with worker(cluster, NoopHandler(), source=source) as running:
            await until(lambda: len(said(memory, "succeeded")) == 1)
            assert running.gauges.passed_over == [TOPICS.runs("normal")]

    play(scenario)


def test_from_a_share_group_every_run_is_claimed_before_it_executes() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, *(fresh_run(f"job-{n}") for n in range(50)))
        async with worker(cluster, source="share"):
            await until(lambda: len(said(memory, "succeeded")) == 50)
        assert sorted(said(memory, "started")) == sorted(said(memory, "succeeded"))

    play(scenario)


def test_what_waits_for_a_slot_for_too_long_is_handed_back() -> None:
    class Accepted:
        def __init__(self) -> None:
            self.held: list[Held] = []

        def accept(self, held: Collection[Held]) -> None:
            self.held += held

    async def main() -> None:
        memory, now, accepted = memory_cluster(), [0], Accepted()
        lane = ShareLane("normal", accepted, lambda _: None, lambda: now[0])
        emit(memory, fresh_run("a"), fresh_run("b"))
        lane.received(memory.records(TOPICS.runs("normal"), 0))
        lane.started(lane.next())
        now[0] = OVERDUE_MS - 1
        assert lane.overdue() == []
        now[0] = OVERDUE_MS
        (overdue,) = lane.overdue()
        assert overdue.run.job_id == "b"
        assert lane.takeable == 0

    asyncio.run(main())
