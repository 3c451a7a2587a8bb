"""One worker from its start to its end: threads, event loop, log."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from enum import IntEnum
from functools import partial
from typing import TypeVar

from tocsin.broker.errors import BrokerError, Die, PropertiesRefused, Retry
from tocsin.broker.port import Cluster
from tocsin.model.jobs import PRIORITIES, Priority
from tocsin.model.runs import Cancel, Run, Worker
from tocsin_worker.attempt import Workplace
from tocsin_worker.cancels import CancelBook
from tocsin_worker.concurrency import Concurrency
from tocsin_worker.follower import Follower
from tocsin_worker.gauges import Gauges
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.intake.intake import Intake
from tocsin_worker.intake.reader import RELEASE_SECONDS
from tocsin_worker.intake.turns import PriorityChoice
from tocsin_worker.options import WorkerOptions
from tocsin_worker.outcomes import Outcomes
from tocsin_worker.report import Colleagues, Reporter
from tocsin_worker.slots import Slots
from tocsin_worker.sources import runs_source
from tocsin_worker.threads import pool
from tocsin_worker.timers import LoopTimers, SameDelay
from tocsin_worker.worker import RunWorker
from tocsin_worker.writer import LogWriter

LOG = logging.getLogger(__name__)

R = TypeVar("R")

TopicProblems = Callable[[], list[str]]
"""A sentence for each topic that is not as it must be. May block for seconds, and raises
`BrokerError`s."""

OUTCOMES_LINGER_MS = 10
"""Each batch of outcomes costs the brokers three requests: it is written, and read twice."""

_RETRY_SECONDS = 2.0
_LEAVE_SECONDS = RELEASE_SECONDS + 2
_SPARE_MS = 2_000
_ABORTED_SECONDS = 1.0
_STUCK_MS = 60_000
_THREADS = 4


class Exit(IntEnum):
    """How a worker ended."""

    DONE = 0
    FAILED = 1
    INVALID = 2
    """The Kafka client refuses its properties."""
    UNREPORTED = 3
    """Outcomes could not be written: their runs will be executed again."""


class WorkerNode:
    """Made and used on a running event loop.

    checking topics ─► following cancels ─caught up─► opening handlers ─► working ─stop()─► draining
           └──────────────────┴──────────stop()──────────────┴──────────────────────────────► ended
    """

    def __init__(
        self,
        cluster: Cluster,
        options: WorkerOptions,
        registry: Registry,
        gauges: Gauges,
        topic_problems: TopicProblems = list,
    ) -> None:
        self._options = options
        self._registry = registry
        self._topic_problems = topic_problems
        self._loop = asyncio.get_running_loop()
        self._threads = pool("node", _THREADS)
        self._timers = LoopTimers()
        self._preparing: str | None = "checking the topics"
        self._caught_up = asyncio.Event()
        self._stopping = asyncio.Event()
        self._opened_at: int | None = None
        self._error: BrokerError | None = None
        self._joined: set[Priority] = set()
        self.undecodable = gauges.undecodable

        self._producer = cluster.producer(linger_ms=OUTCOMES_LINGER_MS)
        self._writer = LogWriter(self._producer, self._timers, self.failed)
        self._source = runs_source(cluster, options, gauges.undecodable, self._timers)
        choice = PriorityChoice(strict=options.strict_priority)
        self._intake = Intake(self._source.lanes, self._source.mailboxes, choice)
        self._colleagues = Colleagues(options.name, options.pool, registry.types, self._timers)
        self._worker = self._run_worker(gauges)
        topics = options.topics
        self._reporter = Reporter(self._writer, topics.workers, self._timers, self._report)
        self._follower = Follower(cluster, topics, self, self._loop)
        self._readers = self._source.readers(self._worker, self._joined.add, self.failed)

    @property
    def waiting_for(self) -> str | None:
        """Why no runs are taken yet; None when they are. From any thread."""
        if self._preparing is not None:
            return self._preparing
        if not self._caught_up.is_set():
            return f"reading {self._options.topics.cancels} to its end"
        if opening := self._registry.opening:
            return f"handlers prepare themselves: {', '.join(opening)}"
        missing = [priority for priority in PRIORITIES if priority not in self._joined]
        if missing:
            return f"joining {', '.join(map(self._source.group, missing))}"
        return "stopping" if self._stopping.is_set() else None

    @property
    def executing(self) -> int:
        """How many slots are taken. From any thread."""
        return self._worker.slots.size - self._worker.slots.free

    @property
    def stuck(self) -> str | None:
        """Why the process should be restarted; None when all is well. From any thread."""
        ticked_at = self._worker.ticked_at or self._opened_at
        if ticked_at is None or self._stopping.is_set():
            return None
        still_ms = self._timers.monotonic_ms() - ticked_at
        return None if still_ms < _STUCK_MS else f"a handler blocks the event loop: {still_ms} ms"

    async def run(self) -> Exit:
        """Work until `stop`, or until an error that no repetition helps."""
        if await self._topics_are_right():
            self._follower.start()
            await self._unless_stopped(self._caught_up.wait())
        if not self._stopping.is_set():
            self._opened_at = self._timers.monotonic_ms()
            await self._unless_stopped(self._registry.open())
        if not self._stopping.is_set():
            for reader in self._readers:
                reader.start()
            self._worker.start()
            self._reporter.start()
            LOG.info("worker %s takes runs", self._options.name, extra={"action": "worker_ready"})
            await self._stopping.wait()
        return await self._end()

    def stop(self) -> None:
        """Take nothing new, finish within the grace. A second time: end at once."""
        if self._stopping.is_set():
            self._worker.abort()
        self._stopping.set()

    def cancelled(self, cancels: list[tuple[Cancel, int]]) -> None:
        self._worker.cancelled(cancels)

    def reported(self, workers: list[Worker]) -> None:
        for report in workers:
            self._colleagues.heard(report)

    def caught_up(self) -> None:
        self._caught_up.set()

    def failed(self, error: BrokerError) -> None:
        """End in good order, and with a sentence that says why."""
        if self._error is None:
            LOG.error(
                "worker %s stops: %s",
                self._options.name,
                error,
                extra={"action": "worker_failed", "code": error.code},
            )
            self._error = error
        self._stopping.set()

    def _run_worker(self, gauges: Gauges) -> RunWorker:
        name, timers, outcomes = self._options.name, self._timers, self._options.topics.outcomes
        cancels = CancelBook(name)
        place = Workplace(
            worker=name,
            terms=self._options.terms,
            timers=timers,
            soon=SameDelay(timers, self._options.terms.claim_after_ms),
            outcomes=Outcomes(name, outcomes, self._writer, timers),
            registry=self._registry,
            deliveries=self._intake,
            gauges=gauges,
            is_cancelled=cancels.covers,
            enter_host=self._enter_host,
        )
        slots = Slots(self._options.slots, timers)
        concurrency = Concurrency(self._options.limits, timers.monotonic_ms)
        return RunWorker(slots, self._intake, place, self._colleagues, cancels, concurrency)

    async def _enter_host(self, run: Run, host: str) -> None:
        await self._worker.enter_host(run, host)

    def _report(self) -> Worker:
        return Worker(
            worker=self._options.name,
            pool=self._options.pool,
            handlers=self._registry.types,
            slots=self._options.slots,
            free=self._worker.free,
            partitions=self._intake.places,
            time=self._timers.now_ms(),
        )

    def _in_thread(self, call: Callable[[], R]) -> "asyncio.Future[R]":
        """On one that no handler can hold up."""
        return self._loop.run_in_executor(self._threads, call)

    async def _topics_are_right(self) -> bool:
        """Waits for a cluster that answers; False if the worker is not to begin."""
        while not self._stopping.is_set():
            try:
                problems = await self._in_thread(self._topic_problems)
            except Retry as error:
                self._preparing = f"waiting for Kafka: {error}"
                LOG.warning("%s", self._preparing, extra={"action": "waiting_for_kafka"})
                await self._pause()
            except BrokerError as error:
                self.failed(error)
            else:
                self._preparing = None
                if problems:
                    self.failed(Die("; ".join(problems)))
                return not problems
        return False

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_RETRY_SECONDS):
                await self._stopping.wait()

    async def _unless_stopped(self, preparation: Coroutine[None, None, object]) -> None:
        """Wait for its end; it is cancelled when the worker is to stop."""
        waits = [asyncio.ensure_future(each) for each in (preparation, self._stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _end(self) -> Exit:
        deadline = self._timers.monotonic_ms() + self._options.grace_ms + _SPARE_MS
        self._worker.drain()
        leaving = asyncio.gather(
            *(self._in_thread(partial(r.join, _LEAVE_SECONDS)) for r in self._readers)
        )
        await self._worker.drained(self._options.grace_ms)
        await asyncio.wait((leaving,), timeout=self._left(deadline) / 1000)
        settled = await self._writer.settle(self._left(deadline))
        if self._caught_up.is_set():
            self._reporter.stop()
            await self._writer.settle(_SPARE_MS)
        await self._close(deadline)
        if self._error is not None:
            is_invalid = isinstance(self._error, PropertiesRefused)
            return Exit.INVALID if is_invalid else Exit.FAILED
        return Exit.DONE if settled else Exit.UNREPORTED

    def _left(self, deadline: int) -> int:
        """Milliseconds until then, or a moment longer for what must not be left out."""
        left_ms = 0 if self._worker.aborted else deadline - self._timers.monotonic_ms()
        return max(left_ms, _SPARE_MS)

    async def _close(self, deadline: int) -> None:
        self._follower.stop()
        await self._in_thread(partial(self._follower.join, _SPARE_MS / 1000))
        await self._close_handlers(deadline)
        self._threads.shutdown(wait=False)
        self._producer.close()

    async def _close_handlers(self, deadline: int) -> None:
        """They may take what is left of the grace, and a moment after `stop` has been called twice:
        they may be anyone's."""
        closing = asyncio.ensure_future(self._registry.close())
        aborted = asyncio.ensure_future(self._worker.when_aborted())
        left = self._left(deadline) / 1000
        await asyncio.wait((closing, aborted), timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if not closing.done():
            await asyncio.wait((closing,), timeout=_ABORTED_SECONDS if aborted.done() else 0)
        closing.cancel()
        aborted.cancel()
