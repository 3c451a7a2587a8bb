"""What the loop does beside its work, every now and then."""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import TopicPartition
from tocsin.wire.topics import Topics
from tocsin_scheduler.shell.broker_clock import Clock
from tocsin_scheduler.shell.log_identity import LogWatch
from tocsin_scheduler.shell.loop import Loop
from tocsin_scheduler.shell.pools import Pools
from tocsin_scheduler.shell.progress import Progress
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.shell.stability import Stability
from tocsin_scheduler.shell.status import StatusBoard

LOG = logging.getLogger(__name__)

STATUS_MS = 1_000
STABILITY_MS = 5_000
LOG_MS = 10_000
LOG_S = 5.0
POOLS_MS = 60_000
MISSED_POOL_MS = 5_000
WORKERS_MS = 200


class Rhythm:
    """True once each `every_ms`."""

    def __init__(self, clock: Clock, every_ms: int) -> None:
        self._clock = clock
        self._every_ms = every_ms
        self._last: int | None = None

    def is_due(self) -> bool:
        now = self._clock.monotonic_ms()
        if self._last is not None and now - self._last < self._every_ms:
            return False
        self._last = now
        return True


class BackgroundTask:
    """Runs something on another thread, one at a time; a failure is logged, the next may do."""

    def __init__(self, executor: Executor, name: str) -> None:
        self._executor = executor
        self._name = name
        self._running: Future[None] | None = None

    def start(self, task: Callable[[], None]) -> None:
        """Unless the last one still runs."""
        if self._running is not None and not self._running.done():
            return
        last, self._running = self._running, self._executor.submit(task)
        error = None if last is None else last.exception()
        if isinstance(error, BrokerError):
            LOG.warning("%s: %s", self._name, error, extra={"action": f"{self._name}_failed"})
        elif error is not None:
            raise error


class Housekeeping:
    """`step` is called between two steps of the loop, and takes no time to speak of."""

    def __init__(
        self,
        loop: Loop,
        board: StatusBoard,
        pools: Pools,
        stability: Stability,
        log: LogWatch,
        report: Report,
        topics: Topics,
        clock: Clock,
        executor: Executor,
    ) -> None:
        self._loop = loop
        self._board = board
        self._pools = pools
        self._stability = stability
        self._log = log
        self._report = report
        self._topics = topics
        self._refreshing = BackgroundTask(executor, "pools")
        self._watching = BackgroundTask(executor, "stability")
        self._progress = Progress(clock)
        self._identifying = BackgroundTask(executor, "log_identity")
        self._status_time = Rhythm(clock, STATUS_MS)
        self._pools_time = Rhythm(clock, POOLS_MS)
        self._missed_time = Rhythm(clock, MISSED_POOL_MS)
        self._stability_time = Rhythm(clock, STABILITY_MS)
        self._log_time = Rhythm(clock, LOG_MS)
        self._clock_was_off = False
        self._workers_time = Rhythm(clock, WORKERS_MS)
        loop.spreading.over(pools.run_topics)

    def step(self) -> None:
        """Whatever is due."""
        if self._status_time.is_due():
            self._board.update(self._loop, has_joined=len(self._loop.tenures) > 0)
            self._tell_of_clock()
        if self._pools_time.is_due() or (self._pools.missed and self._missed_time.is_due()):
            self._refreshing.start(self._pools.refresh)
        if self._stability_time.is_due():
            positions = self._loop.positions
            self._watching.start(lambda: self._look(positions))
        if self._log_time.is_due():
            self._identifying.start(lambda: self._log.look(LOG_S))
        if self._workers_time.is_due():
            self._loop.spreading.over(self._pools.run_topics)
            self._loop.spreading.follow(self._loop.clock.now())

    def _tell_of_clock(self) -> None:
        """Each time it goes wrong, once."""
        is_off = self._loop.clock.is_off
        if is_off and not self._clock_was_off:
            self._report.alarm("clock_off")
        self._clock_was_off = is_off

    def _look(self, positions: Mapping[TopicPartition, int]) -> None:
        topics = self._topics
        sources = (topics.jobs, topics.signals, topics.outcomes, topics.state)
        numbers = [tenure.number for tenure in self._loop.tenures]
        places = [TopicPartition(topic, number) for topic in sources for number in numbers]
        for _ in self._stability.look(places):
            self._report.alarm("stable_offset_lags")
        stalled = self._progress.look(positions, self._stability.stable_offsets)
        for _ in stalled:
            self._report.alarm("partition_stalled")
        self._board.stalled = stalled
