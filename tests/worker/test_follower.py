"""Cancels are read to their end before runs are taken, and followed from then on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.worker.shared_cluster import SharedCluster
from tests.worker.support import NOW, TOPICS, memory_cluster
from tocsin.broker.errors import BrokerError, BrokerUnreachable
from tocsin.broker.port import Cluster
from tocsin.model.runs import Cancel, Worker
from tocsin.testing import MemoryCluster
from tocsin.wire import codec
from tocsin_worker.follower import Follower

PATIENCE = 30.0


class Events:
    """Notes what the follower tells, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.error: BrokerError | None = None
        self._news = asyncio.Event()

    def cancelled(self, cancels: list[tuple[Cancel, int]]) -> None:
        for cancel, timestamp in cancels:
            assert timestamp == NOW
            self._note(cancel.run_id)

    def reported(self, workers: list[Worker]) -> None:
        for worker in workers:
            self._note(f"worker {worker.worker}")

    def caught_up(self) -> None:
        self._note("caught up")

    def undecodable(self, topic: str) -> None:
        self._note(f"undecodable in {topic}")

    def failed(self, error: BrokerError) -> None:
        self.error = error
        self._note("failed")

    async def until(self, what: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while what not in self.told:
                self._news.clear()
                await self._news.wait()

    def _note(self, what: str) -> None:
        self.told.append(what)
        self._news.set()


class Scene:
    def __init__(self, memory: MemoryCluster) -> None:
        self.memory = memory
        self.cluster = SharedCluster(memory)
        self.events = Events()

    def cancel(self, run_id: str) -> None:
        value = codec.CANCEL.encode(Cancel(run_id=run_id, attempt=1))
        self.cluster.producer().produce(TOPICS.cancels, run_id.encode(), value)

    def report(self, name: str, value: bytes | None = None) -> None:
        report = Worker(
            worker=name, pool="default", handlers=[], slots=1, free=1, partitions=[], time=NOW
        )
        producer = self.cluster.producer()
        producer.produce(TOPICS.workers, name.encode(), value or codec.WORKER.encode(report))


@asynccontextmanager
async def following(scene: Scene) -> AsyncIterator[None]:
    cluster: Cluster = scene.cluster  # type: ignore[assignment]  # as far as a follower uses it
    follower = Follower(cluster, TOPICS, scene.events, asyncio.get_running_loop())
    follower.start()
    try:
        yield
    finally:
        follower.stop()
        assert await asyncio.to_thread(follower.join, PATIENCE)


def play(scenario: Callable[[Scene], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(Scene(memory_cluster()))

    asyncio.run(main())


def test_it_is_caught_up_when_all_that_stood_there_has_been_told() -> None:
    async def scenario(scene: Scene) -> None:
        for number in range(2_500):
            scene.cancel(f"r{number}")
        async with following(scene):
            await scene.events.until("caught up")
            assert scene.events.told == [*(f"r{number}" for number in range(2_500)), "caught up"]
            scene.cancel("later")
            await scene.events.until("later")

    play(scenario)


def test_without_any_cancel_it_is_caught_up_at_once() -> None:
    async def scenario(scene: Scene) -> None:
        async with following(scene):
            await scene.events.until("caught up")

    play(scenario)


def test_reports_of_workers_are_told_from_now_on() -> None:
    async def scenario(scene: Scene) -> None:
        scene.report("old")
        async with following(scene):
            await scene.events.until("caught up")
            scene.report("new")
            await scene.events.until("worker new")
        assert "worker old" not in scene.events.told

    play(scenario)


def test_what_cannot_be_decoded_is_told_and_passed_over() -> None:
    async def scenario(scene: Scene) -> None:
        scene.cluster.producer().produce(TOPICS.cancels, b"k", b"garbage")
        scene.cancel("good")
        async with following(scene):
            await scene.events.until("caught up")
            scene.report("w", b"garbage")
            await scene.events.until(f"undecodable in {TOPICS.workers}")
        assert f"undecodable in {TOPICS.cancels}" in scene.events.told
        assert "good" in scene.events.told

    play(scenario)


def test_passing_faults_are_waited_out() -> None:
    async def scenario(scene: Scene) -> None:
        scene.memory.faults.plan("begin_offsets", BrokerUnreachable("gone"))
        scene.memory.faults.plan("poll_batch", BrokerUnreachable("gone"))
        scene.cancel("r")
        async with following(scene):
            await scene.events.until("caught up")
        assert scene.events.told == ["r", "caught up"]

    play(scenario)


def test_overtaken_by_retention_it_goes_on_with_what_is_left() -> None:
    async def scenario(scene: Scene) -> None:
        for run_id in ("a", "b", "c"):
            scene.cancel(run_id)
        scene.memory.faults.plan("poll_batch", BrokerUnreachable("not yet"))
        async with following(scene):
            scene.memory.truncate(TOPICS.cancels, 0, 2)
            await scene.events.until("caught up")
        assert scene.events.told == ["c", "caught up"]

    play(scenario)


def test_a_missing_topic_is_told_as_a_failure_that_says_what_to_do() -> None:
    async def scenario(scene: Scene) -> None:
        scene.memory.delete_topic(TOPICS.workers)
        async with following(scene):
            await scene.events.until("failed")
        assert "tocsin topics apply" in str(scene.events.error)

    play(scenario)
