"""The process `tocsin scheduler`."""

import logging
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from tocsin import clock, interpreter
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.errors import FENCED_INSTANCE, Die, PropertiesRefused, Retry
from tocsin.broker.kafka import KafkaCluster
from tocsin.health import HealthServer, Version
from tocsin.metrics import Metrics
from tocsin.settings import Address, Settings
from tocsin.timetable import TZDATA_VERSION
from tocsin.wire.codec import schema_ids
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.shell.housekeeping import Housekeeping
from tocsin_scheduler.shell.log_identity import LogWatch, identify, topics_of_log
from tocsin_scheduler.shell.loop import Loop
from tocsin_scheduler.shell.node_place import NodePlace, take_node_place
from tocsin_scheduler.shell.pools import Pools
from tocsin_scheduler.shell.premises import Premises
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.shell.stability import Stability
from tocsin_scheduler.shell.status import StatusBoard
from tocsin_scheduler.shell.watchdog import Watchdog
from tocsin_scheduler.store.rocks import RocksStores

LOG = logging.getLogger(__name__)

LISTEN = Address("", 9101)

OK, FAILED, INVALID, CONFLICT = 0, 1, 2, 4

_ASK_AGAIN_S = 2.0
_REQUEST_S = 10.0
_PAUSE_S = 0.2


def run_scheduler(settings: Settings) -> int:
    """Schedule until SIGTERM or SIGINT; the exit code of the process.

    0: everything was handed over. 1: an error that no repetition helps, such as a missing topic.
    2: the Kafka client refuses its properties.
    4: another process with the same node id has taken this one's place. Where the brokers cannot
    be reached it waits. Raises `InvalidSettings` and `CannotListen`. Must be called on the main
    thread.
    """
    settings.bootstrap()
    interpreter.tune()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with take_node_place(settings.state_dir, settings.node_id) as place:
        try:
            return SchedulerProcess(settings, place, stop).run()
        except Die as error:
            return _died(error, place)


def _died(error: Die, place: NodePlace) -> int:
    """Say why; the exit code."""
    extra = {"action": "scheduler_died", "code": error.code}
    if error.code != FENCED_INSTANCE:
        LOG.error("%s", error, extra=extra)
        return INVALID if isinstance(error, PropertiesRefused) else FAILED
    LOG.error(
        "another process has started as node %s, so this one ends: give each TOCSIN_NODE_ID to "
        "one machine only",
        place.name,
        extra=extra,
    )
    return CONFLICT


class SchedulerProcess:
    """The parts of one process, from its start to its end."""

    def __init__(self, settings: Settings, place: NodePlace, stop: threading.Event) -> None:
        self._settings = settings
        self._place = place
        self._stop = stop
        self._topics = Topics(settings.prefix)
        self._cluster = KafkaCluster(
            settings.bootstrap(), settings.kafka, client_id=f"tocsin-scheduler-{place.name}"
        )
        self._metrics = Metrics()
        self._watchdog = Watchdog(clock)
        self._board = StatusBoard(place.name, self._metrics)
        self._pools = Pools(self._cluster, self._topics)

    def run(self) -> int:
        """Serve health at once, the loop when the topics are there."""
        address = self._settings.listen or LISTEN
        version = Version(TZDATA_VERSION, schema_ids())
        with HealthServer(
            address,
            self._metrics,
            version,
            ready=lambda: self._watchdog.stuck or self._board.not_ready,
            live=lambda: self._watchdog.stuck,
            more={"/status": lambda: self._board.status},
        ) as server:
            LOG.info(
                "health, metrics and status on port %d",
                server.address.port,
                extra={"action": "listening", "port": server.address.port},
            )
            while (premises := self._prepared()) is not None:
                self._work(premises)
        return OK

    def _prepared(self) -> Premises | None:
        """What is to be known of the cluster; waits for it. None where it is over before."""
        while not self._stop.is_set():
            self._watchdog.beat()
            try:
                return self._ask()
            except Retry as error:
                self._board.waiting_for = f"waiting for Kafka: {error}"
                LOG.warning("%s", self._board.waiting_for, extra={"action": "waiting_for_kafka"})
                self._stop.wait(_ASK_AGAIN_S)
        return None

    def _ask(self) -> Premises:
        settings, topics = self._settings, self._topics
        TopicAdmin(settings.bootstrap(), settings.kafka, timeout=_REQUEST_S).require(topics)
        self._pools.refresh()
        found = self._cluster.topics(topics_of_log(topics), _REQUEST_S)
        log = identify(self._cluster.cluster_id(_REQUEST_S), topics, found)
        if log is None:
            raise Retry("topics have been deleted a moment ago")
        return Premises(
            cluster=self._cluster,
            topics=topics,
            log=log,
            stores=RocksStores(self._place.folder),
            config=CoreConfig(
                topics=topics,
                partition=-1,
                partitions=found[topics.jobs].partitions,
                pools=self._pools,
            ),
            run_topics=lambda: self._pools.run_topics,
            catch_up_rate=settings.catch_up_rate,
            node=self._place.name,
            is_static=self._place.is_static,
        )

    def _work(self, premises: Premises) -> None:
        """Until it is over, or the log has become another one."""
        self._metrics.partitions.set(premises.config.partitions)
        report = Report(self._metrics, self._topics)
        stability = Stability(self._cluster, clock)
        log = LogWatch(self._cluster, self._topics, premises.log)
        with ExitStack() as stack:
            stack.callback(stability.close)
            takeovers = stack.enter_context(ThreadPoolExecutor(1, "takeover"))
            chores = stack.enter_context(ThreadPoolExecutor(1, "chores"))
            loop = Loop(premises, clock, report, takeovers)
            stack.callback(loop.close)
            stack.enter_context(_watched(self._watchdog))
            keeping = Housekeeping(
                loop, self._board, self._pools, stability, log, report, self._topics, clock, chores
            )
            self._board.waiting_for = None
            while not (self._stop.is_set() or log.has_changed):
                self._watchdog.beat()
                if not loop.step():
                    self._stop.wait(_PAUSE_S)
                keeping.step()
            if log.has_changed:
                self._board.waiting_for = (
                    "topics have been deleted and made again: all is read anew"
                )
                LOG.error("%s", self._board.waiting_for, extra={"action": "log_changed"})


@contextmanager
def _watched(watchdog: Watchdog) -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=watchdog.watch, args=(over.wait,), name="watchdog")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
