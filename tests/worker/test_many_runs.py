"""One worker with many runs: a thousand at a time, and one after another without end."""

import asyncio
import gc

import msgspec
from aiohttp import web

from tests.worker.handlers.server import server
from tests.worker.shared_cluster import at_once
from tests.worker.support import kinds
from tests.worker.test_node import committed, emit, fresh_run, play, until, worker
from tocsin.broker.port import Cluster
from tocsin.model.runs import Run
from tocsin.testing import MemoryCluster
from tocsin_worker.attempt import Attempt
from tocsin_worker.concurrency import ConcurrencyLimits
from tocsin_worker.execution import Execution
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.intake.partition import Delivery
from tocsin_worker.testing import handler_run

MANY = 1_000
KEPT = (Attempt, Execution, Delivery, Run, asyncio.Task)


def test_a_thousand_slow_calls_go_on_at_a_time() -> None:
    """The target answers nobody before all of them have asked."""

    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        asked, all_are_there = 0, asyncio.Event()

        async def answer(request: web.Request) -> web.StreamResponse:
            nonlocal asked
            asked += 1
            if asked == MANY:
                all_are_there.set()
            await all_are_there.wait()
            return web.Response(text="at last")

        async with server() as site:
            site.answers["/slow"] = answer
            http = HttpHandler(["127.0.0.0/8"], Secrets(None, {}))
            call = handler_run("http", {"url": site.url("/slow")}).handler
            async with worker(cluster, http, slots=MANY) as running:
                await until(lambda: running.node.waiting_for is None)
                emit(memory, *(called(f"slow-{n}", call) for n in range(MANY)))
                await until(lambda: kinds(memory).count("succeeded") == MANY)

    def called(job_id: str, handler: object) -> Run:
        return fresh_run(job_id, handler=handler, payload=b"null")

    play(scenario)


def test_b161_of_runs_that_have_ended_nothing_is_kept() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        limits = ConcurrencyLimits(handlers={"noop": 4}, host=2)
        async with worker(cluster, slots=8, limits=limits) as running:
            await until(lambda: running.node.waiting_for is None)
            kept = [await after(2_000, memory, cluster, round_) for round_ in range(3)]
            assert kept[1] <= kept[0] + 10
            assert kept[2] <= kept[0] + 10

    async def after(count: int, memory: MemoryCluster, cluster: Cluster, round_: int) -> int:
        """How many objects of runs there are when so many more have ended."""
        with at_once(cluster):
            emit(memory, *(job(round_, number) for number in range(count)))
        await until(lambda: committed(memory) == count * (round_ + 1))
        await asyncio.sleep(0)
        gc.collect()
        return sum(isinstance(each, KEPT) for each in gc.get_objects())

    def job(round_: int, number: int) -> Run:
        """Each calls a host of its own, as far as the worker's limits can tell."""
        run = fresh_run(f"job-{round_}-{number}")
        config = b'{"url": "http://h%d.example"}' % (round_ * 10_000 + number)
        return msgspec.structs.replace(
            run, handler=msgspec.structs.replace(run.handler, config=config)
        )

    play(scenario)
