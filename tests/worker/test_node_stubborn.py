"""A worker whose handler lets go of nothing."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.worker.support import outcomes
from tests.worker.test_node import emit, fresh_run, play, until, worker
from tocsin import clock
from tocsin.broker.port import Cluster
from tocsin.model.runs import Run
from tocsin.testing import MemoryCluster
from tocsin_worker.execution import CANCEL_GRACE_MS
from tocsin_worker.handlers.port import Context, Success
from tocsin_worker.node import Exit

GRACE_MS, SLACK_MS = 300, 8_000


class Stubborn:
    """Ignores being cancelled in runs of jobs that are called so; does nothing in others."""

    type = "noop"

    def __init__(self) -> None:
        self.stuck: list[str] = []
        self.end = asyncio.Event()

    async def execute(self, run: Run, context: Context) -> Success:
        if run.job_id.startswith("stubborn"):
            self.stuck.append(run.run_id)
            while not self.end.is_set():
                with suppress(asyncio.CancelledError):
                    await self.end.wait()
            self.stuck.remove(run.run_id)
        return Success()

    async def close(self) -> None:
        return None


@asynccontextmanager
async def stubborn() -> AsyncIterator[Stubborn]:
    handler = Stubborn()
    try:
        yield handler
    finally:
        handler.end.set()


def endings(memory: MemoryCluster) -> Counter[str]:
    """By the code of the error, if any."""
    ended = (o for o in outcomes(memory) if o.kind in ("succeeded", "failed"))
    return Counter(o.kind if o.error is None else o.error.code for o in ended)


def test_b119_two_that_never_return_have_their_time_and_ten_others_their_slots() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with stubborn() as handler, worker(cluster, handler, slots=2):
            emit(memory, *(fresh_run(f"stubborn-{n}", timeout_ms=500) for n in range(2)))
            await until(lambda: len(handler.stuck) == 2)
            emit(memory, *(fresh_run(f"job-{n}") for n in range(10)))
            await until(lambda: endings(memory) == Counter(timeout=2, succeeded=10))
            assert len(handler.stuck) == 2

    play(scenario)


def test_b116_told_to_stop_it_does_not_wait_for_one_that_never_returns() -> None:
    async def scenario(memory: MemoryCluster, cluster: Cluster) -> None:
        async with stubborn() as handler, worker(cluster, handler, grace_ms=GRACE_MS) as running:
            emit(memory, fresh_run("stubborn"))
            await until(lambda: len(handler.stuck) == 1)
            told = clock.monotonic_ms()
            assert await running.stopped() is Exit.DONE
            took = clock.monotonic_ms() - told
            assert GRACE_MS <= took <= GRACE_MS + CANCEL_GRACE_MS + SLACK_MS
            assert endings(memory) == Counter(interrupted=1)
            assert len(handler.stuck) == 1

    play(scenario)
