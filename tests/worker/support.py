"""What tests of the worker share: runs, and time that is moved by hand."""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from tocsin.model.runs import Outcome, Run
from tocsin.testing import MemoryCluster, SettableClock
from tocsin.testing.clock import NEW_YEAR_2026
from tocsin.wire import codec
from tocsin.wire.topics import Topics
from tocsin_worker.testing import handler_run
from tocsin_worker.timers import Timer

TOPICS = Topics("t")
NOW = NEW_YEAR_2026
HOUR_MS = 3_600_000


def a_run(job_id: str = "job", *, tenant: str = "acme", **fields: Any) -> Run:
    """A run of a `noop` job, due now and good for an hour."""
    run_id = f"{tenant}.{job_id}.20260101T000000.000Z"
    given = {"run_id": run_id, "tenant": tenant, "job_id": job_id, "payload": None, **fields}
    return msgspec.structs.replace(handler_run("noop"), **given)


class _ManualTimer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class ManualTimers:
    """Timers over a settable clock: calls are made inside `advance`, each at its moment."""

    def __init__(self, clock: SettableClock | None = None) -> None:
        self.clock = clock or SettableClock()
        self._order = count()
        self._heap: list[tuple[int, int, _ManualTimer]] = []

    def now_ms(self) -> int:
        return self.clock.now_ms()

    def monotonic_ms(self) -> int:
        return self.clock.monotonic_ms()

    def after(self, delay_ms: int, call: Callable[[], None]) -> Timer:
        timer = _ManualTimer(call)
        at = self.clock.monotonic_ms() + max(0, delay_ms)
        heapq.heappush(self._heap, (at, next(self._order), timer))
        return timer

    def advance(self, duration_ms: int) -> None:
        """Let time pass, and make the calls that come due."""
        end = self.clock.monotonic_ms() + duration_ms
        while self._heap and self._heap[0][0] <= end:
            at, _, timer = heapq.heappop(self._heap)
            self.clock.advance(max(0, at - self.clock.monotonic_ms()))
            if timer.call is not None:
                timer.call()
        self.clock.advance(end - self.clock.monotonic_ms())

    def freeze(self, duration_ms: int) -> None:
        """The process stands still: time passes, and nothing is called."""
        self.clock.advance(duration_ms)


async def let_run() -> None:
    """Let tasks and callbacks that are ready go on until nothing is."""
    for _ in range(20):
        await asyncio.sleep(0)


def memory_cluster(clock: SettableClock | None = None, partitions: int = 1) -> MemoryCluster:
    """With all the topics a worker of the default pool needs."""
    cluster = MemoryCluster(clock)
    for topic in (TOPICS.runs("high"), TOPICS.runs("normal"), TOPICS.runs("low")):
        cluster.create_topic(topic, partitions)
    cluster.create_topic(TOPICS.outcomes, partitions)
    cluster.create_topic(TOPICS.cancels, partitions)
    cluster.create_topic(TOPICS.workers, partitions, compacted=True)
    return cluster


def outcomes(cluster: MemoryCluster, partitions: int = 1) -> list[Outcome]:
    """All outcomes in the log, partition by partition."""
    return [
        codec.OUTCOME.decode(record.value or b"")
        for partition in range(partitions)
        for record in cluster.records(TOPICS.outcomes, partition)
    ]


def kinds(cluster: MemoryCluster) -> list[str]:
    """The kinds of all outcomes in the log, in order."""
    return [outcome.kind for outcome in outcomes(cluster)]
