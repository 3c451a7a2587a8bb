"""The start of a worker: what it waits for, and what does not hold it up."""

import asyncio
import time
from threading import Event, Thread

import pytest

from tests.worker.support import TOPICS
from tests.worker.test_node import play, until, worker
from tocsin.broker.port import Cluster
from tocsin.testing import MemoryCluster
from tocsin_worker import node
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.node import Exit, WorkerNode


def test_readiness_says_what_is_waited_for() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with worker(cluster) as running:
            assert running.node.waiting_for == "checking the topics"
            await until(lambda: running.node.waiting_for is None)
            running.node.stop()
            assert running.node.waiting_for == "stopping"

    play(scenario)


def test_a_missing_topic_is_a_sentence_and_a_failure() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        memory.delete_topic(TOPICS.cancels)
        async with worker(cluster) as running:
            assert await running.task is Exit.FAILED

    play(scenario)


class NeverOpened(NoopHandler):
    """Waits for ever before the first run."""

    async def open(self) -> None:
        await asyncio.Event().wait()


def test_told_to_stop_while_a_handler_prepares_itself_it_ends() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with worker(cluster, NeverOpened()) as running:
            await until(lambda: running.node.waiting_for == "handlers prepare themselves: noop")
            async with asyncio.timeout(20):
                assert await running.stopped() is Exit.DONE

    play(scenario)


class BlockingOpen(NoopHandler):
    """Holds up the event loop before the first run."""

    def __init__(self) -> None:
        self.end = Event()

    async def open(self) -> None:
        self.end.wait(30)


def test_a_handler_that_blocks_the_event_loop_is_a_worker_to_be_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node, "_STUCK_MS", 200)
    told: list[str] = []

    def watch(looked_at: WorkerNode, handler: BlockingOpen) -> None:
        for _ in range(1_000):
            if (why := looked_at.stuck) is not None:
                told.append(why)
                break
            time.sleep(0.01)
        handler.end.set()

    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        handler = BlockingOpen()
        async with worker(cluster, handler) as running:
            watching = Thread(target=watch, args=(running.node, handler))
            watching.start()
            await until(lambda: running.node.waiting_for is None)
            watching.join()

    play(scenario)
    (why,) = told
    assert "a handler blocks the event loop" in why
