"""The whole worker, threads and all, over the in-memory log."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from tests.worker.shared_cluster import at_once, shared
from tests.worker.support import HOUR_MS, TOPICS, a_run, kinds, memory_cluster, outcomes
from tocsin import clock
from tocsin.broker.port import Cluster, TopicPartition
from tocsin.model.jobs import Priority
from tocsin.model.runs import Cancel, OutcomeKind, Run
from tocsin.testing import MemoryCluster
from tocsin.wire import codec
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.port import Context, RunHandler, Success
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.intake.partition import WINDOW
from tocsin_worker.leases import LeaseTerms
from tocsin_worker.node import Exit, WorkerNode
from tocsin_worker.options import WorkerOptions

NORMAL = TOPICS.runs("normal")
GROUP = TOPICS.worker_group("default", "normal")


class Gauges:
    """Counts records passed over, and wakes up whoever waits for an outcome."""

    def __init__(self) -> None:
        self.passed_over: list[str] = []
        self.changed = asyncio.Event()

    def started(self, run: Run, lateness_ms: int) -> None:
        return None

    def ended(self, run: Run, kind: OutcomeKind, duration_ms: int | None) -> None:
        self.changed.set()

    def undecodable(self, topic: str) -> None:
        self.passed_over.append(topic)


class Gate:
    """A handler whose runs wait until the gate is opened."""

    type = "noop"

    def __init__(self, *, opened: bool = False) -> None:
        self.entered: list[str] = []
        self.someone = asyncio.Event()
        self.gate = asyncio.Event()
        if opened:
            self.gate.set()

    async def execute(self, run: Run, context: Context) -> Success:
        self.entered.append(run.run_id)
        self.someone.set()
        await self.gate.wait()
        return Success()

    async def close(self) -> None:
        return None


class NeverClosed(NoopHandler):
    """Waits for ever when it is to close."""

    def __init__(self) -> None:
        self.closing = asyncio.Event()

    async def close(self) -> None:
        self.closing.set()
        await asyncio.Event().wait()


def fresh_run(job_id: str, priority: Priority = "normal", **fields: object) -> Run:
    """A run due now by the machine's clock."""
    now = clock.now_ms()
    run = a_run(job_id, due_time=now, expires_time=now + HOUR_MS, priority=priority)
    return msgspec.structs.replace(run, **fields)


def emit(memory: MemoryCluster, *runs: Run) -> None:
    producer = memory.producer()
    for run in runs:
        topic = TOPICS.runs(run.priority)
        producer.produce(topic, run.run_id.encode(), codec.RUN.encode(run))


def committed(memory: MemoryCluster, group: str = GROUP, topic: str = NORMAL) -> int | None:
    reader = memory.log_reader(group)
    place = TopicPartition(topic, 0)
    return reader.committed([place], 1)[place].offset


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that other threads bring about."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110 - threads cannot set an event of this loop
            await asyncio.sleep(0.005)


class Running:
    """A worker at work."""

    def __init__(self, node: WorkerNode, gauges: Gauges) -> None:
        self.node = node
        self.gauges = gauges
        self.task = asyncio.ensure_future(node.run())

    async def stopped(self) -> Exit:
        self.node.stop()
        return await self.task


@asynccontextmanager
async def worker(
    cluster: Cluster, handler: RunHandler | None = None, **options: object
) -> AsyncIterator[Running]:
    """Stopped at once at the end, if it was not before."""
    gauges = Gauges()
    chosen = worker_options(**options)
    running = Running(
        WorkerNode(cluster, chosen, Registry([handler or NoopHandler()]), gauges), gauges
    )
    try:
        yield running
    finally:
        running.node.stop()
        running.node.stop()
        await running.task


def worker_options(**options: object) -> WorkerOptions:
    return WorkerOptions(**{"name": "w-1", "topics": TOPICS, "grace_ms": 5_000, **options})  # type: ignore[arg-type]


def play(scenario: Callable[[MemoryCluster, Cluster], Awaitable[None]]) -> None:
    async def main() -> None:
        memory = memory_cluster()
        await scenario(memory, shared(memory))

    asyncio.run(main())


def test_each_run_is_executed_once_and_its_offset_committed() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        runs = [fresh_run(f"job-{n}") for n in range(2 * WINDOW)]
        emit(memory, *runs)
        async with worker(cluster) as running:
            await until(lambda: committed(memory) == len(runs))
            assert await running.stopped() is Exit.DONE
        succeeded = [o.run_id for o in outcomes(memory) if o.kind == "succeeded"]
        assert sorted(succeeded) == sorted(run.run_id for run in runs)

    play(scenario)


def test_only_possible_redeliveries_are_claimed() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, *(fresh_run(f"job-{n}") for n in range(WINDOW + 100)))
        async with worker(cluster):
            await until(lambda: committed(memory) == WINDOW + 100)
        claimed = {o.run_id for o in outcomes(memory) if o.kind == "started"}
        assert len(claimed) == WINDOW
        assert len(kinds(memory)) == WINDOW + WINDOW + 100

    play(scenario)


def test_a_short_run_costs_two_records() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with worker(cluster) as running:
            await until(lambda: running.node.waiting_for is None)
            emit(memory, *(fresh_run(f"job-{n}") for n in range(100)))
            await until(lambda: committed(memory) == 100)
        assert kinds(memory) == ["succeeded"] * 100

    play(scenario)


def test_all_priorities_are_read() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        priorities: tuple[Priority, ...] = ("low", "normal", "high")
        emit(memory, *(fresh_run(priority, priority) for priority in priorities))
        async with worker(cluster):
            await until(lambda: kinds(memory).count("succeeded") == 3)

    play(scenario)


def test_a_record_that_is_no_run_is_counted_and_passed_over() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        producer = memory.producer()
        for value in (b"garbage", None, codec.CANCEL.encode(Cancel(run_id="r", attempt=1))):
            producer.produce(NORMAL, b"k", value)
        emit(memory, fresh_run("job"))
        async with worker(cluster) as running:
            await until(lambda: committed(memory) == 4)
            assert running.gauges.passed_over == [NORMAL] * 3
        assert kinds(memory) == ["started", "succeeded"]

    play(scenario)


def test_a_run_cancelled_while_it_waited_is_never_executed() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        run, other = fresh_run("cancelled"), fresh_run("other")
        emit(memory, run, other)
        cancel = Cancel(run_id=run.run_id, attempt=1)
        memory.producer().produce(TOPICS.cancels, b"k", codec.CANCEL.encode(cancel))
        memory.producer().produce(TOPICS.cancels, b"k", b"garbage")
        gate = Gate(opened=True)
        async with worker(cluster, gate) as running:
            await until(lambda: committed(memory) == 2)
            assert running.gauges.passed_over == [TOPICS.cancels]
        assert gate.entered == [other.run_id]
        assert {o.run_id: o.kind for o in outcomes(memory)}[run.run_id] == "cancelled"

    play(scenario)


@pytest.mark.parametrize(
    ("names", "kind"), [(None, "cancelled"), ("w-1", "declined"), ("w-2", "succeeded")]
)
def test_a_running_run_is_cancelled_everywhere_or_handed_back_here(
    names: str | None, kind: str
) -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        run, gate = fresh_run("job"), Gate()
        emit(memory, run)
        async with worker(cluster, gate):
            await gate.someone.wait()
            for cancel in (
                Cancel(run_id=run.run_id, attempt=1, worker=names),
                Cancel(run_id="sentinel", attempt=1),
            ):
                producer = cluster.producer()
                producer.produce(TOPICS.cancels, b"k", codec.CANCEL.encode(cancel))
            if kind == "succeeded":
                gate.gate.set()
            await until(lambda: len(kinds(memory)) == 2)
        assert kinds(memory)[1] == kind

    play(scenario)


def test_a_cancel_for_one_worker_does_not_mean_what_was_emitted_after_it() -> None:
    """The same attempt, handed back by another worker, comes here."""

    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        gate, cancelled_at = Gate(), clock.now_ms()
        run = fresh_run("job", emitted_time=cancelled_at + 1)
        cancel = Cancel(run_id=run.run_id, attempt=1, worker="w-1")
        memory.producer().produce(TOPICS.cancels, b"k", codec.CANCEL.encode(cancel))
        emit(memory, run)
        async with worker(cluster, gate) as running:
            await gate.someone.wait()
            running.node.cancelled([(cancel, cancelled_at)])
            gate.gate.set()
            await until(lambda: len(kinds(memory)) == 2)
        assert kinds(memory) == ["started", "succeeded"]

    play(scenario)


def test_told_to_stop_it_finishes_what_runs_and_declines_what_was_overtaken() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, *(fresh_run(f"job-{n}") for n in range(WINDOW)))
        async with worker(cluster, Gate(opened=True)):
            await until(lambda: committed(memory) == WINDOW)
        done = len(kinds(memory))
        gate = Gate()
        emit(memory, *(fresh_run(f"late-{n}") for n in range(5)))
        async with worker(cluster, gate, slots=2) as running:
            await until(lambda: len(gate.entered) == 2)
            running.node.stop()
            await until(lambda: committed(memory) == WINDOW + 2)
            assert not running.task.done()
            gate.gate.set()
            assert await running.task is Exit.DONE
        assert kinds(memory)[done:] == ["started", "started", "succeeded", "succeeded"]
        assert committed(memory) == WINDOW + 2, "the rest is the next owner's"

    play(scenario)


def test_b081_heartbeats_go_on_until_the_work_has_ended() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, fresh_run("job"))
        gate = Gate()
        terms = LeaseTerms(lease_ms=3_000, claim_after_ms=10)
        async with worker(cluster, gate, terms=terms) as running:
            await gate.someone.wait()
            running.node.stop()
            await until(lambda: kinds(memory).count("heartbeat") >= 2)
            gate.gate.set()
            assert await running.task is Exit.DONE
        assert kinds(memory)[-1] == "succeeded"

    play(scenario)


def test_b116_after_the_grace_what_still_runs_is_interrupted() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, fresh_run("job"))
        gate = Gate()
        async with worker(cluster, gate, grace_ms=50) as running:
            await gate.someone.wait()
            assert await running.stopped() is Exit.DONE
        last = outcomes(memory)[-1]
        assert last.kind == "failed"
        assert last.error is not None
        assert (last.error.code, last.error.permanent) == ("interrupted", False)

    play(scenario)


def test_told_a_second_time_it_does_not_wait_for_the_grace() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        emit(memory, fresh_run("job"))
        gate = Gate()
        async with worker(cluster, gate, grace_ms=HOUR_MS) as running:
            await gate.someone.wait()
            running.node.stop()
            running.node.stop()
            assert await running.task is Exit.DONE
        assert kinds(memory)[-1] == "failed"

    play(scenario)


def test_a_handler_that_does_not_close_has_the_grace_and_no_longer() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with worker(cluster, NeverClosed(), grace_ms=0) as running:
            await until(lambda: running.node.waiting_for is None)
            async with asyncio.timeout(20):
                assert await running.stopped() is Exit.DONE

    play(scenario)


def test_told_a_second_time_it_does_not_wait_for_handlers_to_close() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        handler = NeverClosed()
        async with worker(cluster, handler, grace_ms=HOUR_MS) as running:
            await until(lambda: running.node.waiting_for is None)
            running.node.stop()
            await handler.closing.wait()
            running.node.stop()
            async with asyncio.timeout(10):
                assert await running.task is Exit.DONE

    play(scenario)


def test_it_reports_itself_and_leaves_a_tombstone() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with worker(cluster, slots=3) as running:
            await until(lambda: bool(memory.records(TOPICS.workers, 0)))
            await running.stopped()
        first, *_, last = memory.records(TOPICS.workers, 0)
        report = codec.WORKER.decode(first.value or b"")
        assert (report.worker, report.slots, report.free) == ("w-1", 3, 3)
        assert report.handlers == ["noop"]
        assert (last.key, last.value) == (b"w-1", None)

    play(scenario)


def test_a_second_worker_takes_over_partitions_and_no_run_executes_twice() -> None:
    async def main() -> None:
        memory = memory_cluster(partitions=4)
        cluster = shared(memory)
        runs = [fresh_run(f"job-{n}") for n in range(3_000)]
        first, second = Gate(opened=True), Gate(opened=True)
        async with worker(cluster, first, name="w-1"):
            emit(memory, *runs[:1_500])
            await until(lambda: len(first.entered) > 200)
            async with worker(cluster, second, name="w-2"):
                emit(memory, *runs[1_500:])
                await until(lambda: len(second.entered) > 200)
                await until(lambda: len(first.entered) + len(second.entered) >= 3_000)
        executed = first.entered + second.entered
        assert sorted(executed) == sorted(run.run_id for run in runs)

    asyncio.run(main())


def test_runs_queued_behind_a_full_worker_are_handed_on() -> None:
    async def main() -> None:
        memory = memory_cluster(partitions=2)
        cluster = shared(memory)
        stuck = Gate()
        async with worker(cluster, stuck, name="w-1", slots=1):
            emit(memory, *(fresh_run(f"job-{n}") for n in range(20)))
            await stuck.someone.wait()
            async with worker(cluster, NoopHandler(), name="w-2", slots=1):
                await until(lambda: kinds_of("w-1", memory).count("declined") > 0)
                await until(lambda: len(ended(memory)) == 19)
            stuck.gate.set()
        declined = [o for o in outcomes(memory, 2) if o.kind == "declined"]
        assert all(o.run is not None and o.worker == "w-1" for o in declined)
        assert stuck.entered[0] not in {o.run_id for o in declined}

    def kinds_of(name: str, memory: MemoryCluster) -> list[str]:
        return [o.kind for o in outcomes(memory, 2) if o.worker == name]

    def ended(memory: MemoryCluster) -> set[str]:
        """Runs that are done, or back with the scheduler."""
        return {o.run_id for o in outcomes(memory, 2) if o.kind in {"succeeded", "declined"}}

    asyncio.run(main())


def test_runs_queued_behind_a_slow_worker_are_handed_on() -> None:
    """Its slot is free every now and then, and never for what is queued."""

    class Slow(Gate):
        async def execute(self, run: Run, context: Context) -> Success:
            self.entered.append(run.run_id)
            self.someone.set()
            await asyncio.sleep(0.5)
            return Success()

    async def main() -> None:
        memory = memory_cluster(partitions=2)
        cluster = shared(memory)
        slow = Slow()
        async with worker(cluster, slow, name="w-1", slots=1):
            emit(memory, *(fresh_run(f"job-{n}") for n in range(200)))
            await slow.someone.wait()
            async with worker(cluster, NoopHandler(), name="w-2", slots=1):
                await until(lambda: len(told(memory)) == 200)
        assert len(slow.entered) < 50

    def told(memory: MemoryCluster) -> set[str]:
        """Runs that are done, or back with the scheduler."""
        return {o.run_id for o in outcomes(memory, 2) if o.kind in {"succeeded", "declined"}}

    asyncio.run(main())


def test_told_to_stop_it_declines_what_was_overtaken_by_another_tenant() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        gate = Gate(opened=True)
        async with worker(cluster, gate, slots=2) as running:
            emit(memory, *(fresh_run(f"job-{n}") for n in range(WINDOW)))
            await until(lambda: kinds(memory).count("succeeded") == WINDOW)
            gate.gate.clear()
            big = [fresh_run(f"big-{n}") for n in range(9)]
            small = fresh_run("small", run_id="small.job.20260101T000000.000Z", tenant="small")
            with at_once(cluster):
                emit(memory, *big, small)
            await until(lambda: len(gate.entered) == WINDOW + 2)
            assert gate.entered[WINDOW:] == [big[0].run_id, small.run_id]
            running.node.stop()
            await until(lambda: committed(memory) == WINDOW + 10)
            gate.gate.set()
            assert await running.task is Exit.DONE
        declined = [o for o in outcomes(memory) if o.kind == "declined"]
        assert [o.run for o in declined] == big[1:]
        assert len(gate.entered) == WINDOW + 2

    play(scenario)
