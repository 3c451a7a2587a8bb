"""Scheduler processes over a cluster in memory: their loops stepped by hand, time moved by hand."""

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from itertools import count
from typing import ParamSpec, TypeVar

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import Record
from tocsin.metrics import Metrics
from tocsin.model.events import Event
from tocsin.model.jobs import PRIORITIES, Handler, Job
from tocsin.model.keys import JobKey
from tocsin.model.runs import Outcome, Run, Worker
from tocsin.testing import MemoryCluster, SettableClock
from tocsin.testing.faults import Call
from tocsin.testing.members import MemoryGroupMember
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import EVENT, JOB, OUTCOME, RUN, WATERMARK, WORKER
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.shell.log_identity import LogIdentity, identify, topics_of_log
from tocsin_scheduler.shell.loop import Loop
from tocsin_scheduler.shell.ownership import Phase
from tocsin_scheduler.shell.premises import Premises
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.store.memory import MemoryStores

TOPICS = Topics("t")
PARTITIONS = 2
RUN_PARTITIONS = 2
RUN_TOPICS = dict.fromkeys(map(TOPICS.runs, PRIORITIES), RUN_PARTITIONS)
KEYED = ("jobs", "signals", "outcomes", "state", "events")
P = ParamSpec("P")
T = TypeVar("T")


class OffClock:
    """A machine's clock that is wrong by `off_ms`, which may change."""

    def __init__(self, right: SettableClock, off_ms: int = 0) -> None:
        self._right = right
        self.off_ms = off_ms

    def now_ms(self) -> int:
        return self._right.now_ms() + self.off_ms

    def monotonic_ms(self) -> int:
        return self._right.monotonic_ms()


class Crash(BaseException):
    """The process has been killed in the middle of a call: nothing may catch it."""


class AtOnce(Executor):
    """Does what is submitted before `submit` returns."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BrokerError as error:
            future.set_exception(error)
        return future


class Node:
    """One scheduler process: its loop, and the stores on its disk. off_ms: its clock is wrong."""

    def __init__(
        self,
        town: "Town",
        name: str,
        stores: MemoryStores | None = None,
        *,
        static: bool = False,
        off_ms: int = 0,
    ) -> None:
        self.name = name
        self.clock = OffClock(town.clock, off_ms)
        self.stores = stores or MemoryStores()
        self.static = static
        self.metrics = Metrics()
        self.loop = Loop(
            Premises(
                cluster=town.cluster,
                topics=TOPICS,
                log=town.log,
                stores=self.stores,
                config=CoreConfig(topics=TOPICS, partition=-1, partitions=town.partitions),
                run_topics=lambda: RUN_TOPICS,
                catch_up_rate=500,
                node=name,
                is_static=static,
            ),
            self.clock,
            Report(self.metrics, TOPICS),
            AtOnce(),
            lambda: str(next(town.incarnations)),
        )
        self.loop.spreading.over(RUN_TOPICS)
        self._clock = town.clock

    def step(self) -> None:
        """The loop, and what housekeeping does between two of its steps."""
        self.loop.step()
        self.loop.spreading.follow(self._clock.now_ms())

    @property
    def owned(self) -> set[int]:
        return set(self.loop.tenures.owned)

    @property
    def phases(self) -> dict[int, Phase]:
        return {tenure.number: tenure.phase for tenure in self.loop.tenures}


class Town:
    """The cluster, its clock, and what users and workers do."""

    def __init__(self, partitions: int = PARTITIONS) -> None:
        self.partitions = partitions
        self.clock = SettableClock()
        self.cluster = MemoryCluster(self.clock)
        for name in KEYED:
            topic = f"{TOPICS.prefix}.{name}"
            self.cluster.create_topic(topic, partitions, compacted=name in ("jobs", "state"))
        for topic in (TOPICS.dead, TOPICS.cancels, TOPICS.workers):
            self.cluster.create_topic(topic, 1)
        for priority in PRIORITIES:
            self.cluster.create_topic(TOPICS.runs(priority), RUN_PARTITIONS)
        self.producer = self.cluster.producer()
        self.nodes: list[Node] = []
        self.incarnations = count()

    def node(
        self,
        name: str,
        stores: MemoryStores | None = None,
        *,
        static: bool = False,
        off_ms: int = 0,
    ) -> Node:
        """Start a process."""
        node = Node(self, name, stores, static=static, off_ms=off_ms)
        self.nodes.append(node)
        return node

    @property
    def log(self) -> LogIdentity:
        topics = self.cluster.topics(topics_of_log(TOPICS), 1.0)
        found = identify(self.cluster.cluster_id(1.0), TOPICS, topics)
        assert found is not None
        return found

    def make_again(self, topic: str) -> None:
        """An operator deletes a topic that is keyed by jobs, and makes it again. The brokers drop
        its offsets along with it."""
        self.cluster.delete_topic(topic)
        self.cluster.create_topic(
            topic, self.partitions, compacted=topic in (TOPICS.jobs, TOPICS.state)
        )

    def crash_at(self, call: Call, *, applied: bool = False) -> None:
        """Whoever makes this call next is killed in it, before or after its effect."""
        self.cluster.faults.plan(call, Crash(), applied=applied)  # type: ignore[arg-type]

    def expel(self, node: Node) -> None:
        """Its session ends; it learns so when it polls again."""
        member = node.loop.commits.member
        if isinstance(member, MemoryGroupMember):
            member.expire()

    def kill(self, node: Node) -> MemoryStores:
        """SIGKILL, noticed when the session has ended; what its disk holds."""
        self.nodes.remove(node)
        self.expel(node)
        return node.stores.copy()

    def freeze(self, node: Node) -> None:
        """SIGSTOP, for longer than the session lasts."""
        self.nodes.remove(node)
        self.expel(node)

    def wake(self, node: Node) -> None:
        """SIGCONT."""
        self.nodes.append(node)

    def stop(self, node: Node) -> MemoryStores:
        """SIGTERM."""
        self.nodes.remove(node)
        node.loop.close()
        return node.stores

    def settle(self, rounds: int = 12) -> None:
        """Let all processes run; no time passes."""
        for _ in range(rounds):
            for node in self.nodes:
                node.step()

    def pass_time(self, duration_ms: int, stride_ms: int = 1_000) -> None:
        """Let time pass in strides, all processes running."""
        for _ in range(duration_ms // stride_ms):
            self.clock.advance(stride_ms)
            self.settle(3)

    # users and workers

    def put(self, job_id: str, *, every_s: int = 1, **fields: object) -> None:
        start = self.clock.now_ms()
        self.put_schedule(job_id, ScheduleFields(every_ms=every_s * 1_000, start=start), **fields)

    def put_schedule(self, job_id: str, schedule: ScheduleFields, **fields: object) -> None:
        job = Job(
            tenant="default",
            job_id=job_id,
            schedule=schedule,
            handler=Handler(type="noop"),
            status="active",
            **{"overlap": "allow_all", **fields},  # type: ignore[arg-type]
        )
        self.producer.produce(TOPICS.jobs, str(job.key).encode(), JOB.encode(job))

    def delete(self, job_id: str) -> None:
        key = str(JobKey("default", job_id)).encode()
        self.producer.produce(TOPICS.jobs, key, None)

    def say(self, outcome: Outcome) -> None:
        key = str(outcome.key).encode()
        self.producer.produce(TOPICS.outcomes, key, OUTCOME.encode(outcome))

    def report(self, worker: str, *places: str, free: int = 8) -> None:
        """A worker with 8 slots says what it reads and how many of them are free."""
        report = Worker(
            worker=worker,
            pool="default",
            handlers=["noop"],
            slots=8,
            free=free,
            partitions=list(places),
            time=self.clock.now_ms(),
        )
        self.producer.produce(TOPICS.workers, worker.encode(), WORKER.encode(report))

    # what can be read back

    def records(self, topic: str) -> Iterable[Record]:
        info = self.cluster.topics([topic], 1.0)[topic]
        for number in range(info.partitions):
            yield from self.cluster.records(topic, number)

    def ends(self, topic: str) -> list[int]:
        """Offset of the last record of each partition."""
        found = self.cluster.topics([topic], 1.0)[topic].partitions
        return [
            max((r.offset for r in self.cluster.records(topic, p)), default=-1)
            for p in range(found)
        ]

    def watermark_owners(self) -> list[str]:
        """Of each partition, as its newest `%watermark` has it."""
        newest = {r.key: r.value for r in self.records(TOPICS.state) if r.key and r.key[:1] == b"%"}
        return [WATERMARK.decode(value).owner for _, value in sorted(newest.items()) if value]

    def runs(self) -> list[Run]:
        """All runs of the default pool, in the order of their due times."""
        found = [run for run, _ in self.emitted()]
        return sorted(found, key=lambda run: (run.due_time, run.run_id, run.attempt))

    def emitted(self) -> list[tuple[Run, int]]:
        """The runs with their append times, by topic and partition."""
        topics = [TOPICS.runs(priority) for priority in PRIORITIES]
        return [
            (RUN.decode(r.value), r.timestamp) for t in topics for r in self.records(t) if r.value
        ]

    def events(self) -> list[Event]:
        return [EVENT.decode(r.value) for r in self.records(TOPICS.events) if r.value]

    def times(self, job_id: str) -> list[int]:
        """Scheduled times of a job's runs, in seconds since the town was founded."""
        founded = SettableClock().now_ms()
        return [(r.scheduled_time - founded) // 1000 for r in self.runs() if r.job_id == job_id]

    def skipped(self, job_id: str) -> list[int]:
        """Scheduled times of a job that were skipped, as `times`."""
        founded = SettableClock().now_ms()
        found = [e for e in self.events() if e.job_id == job_id and e.type == "skipped"]
        return [(e.scheduled_time - founded) // 1000 for e in found if e.scheduled_time]

    def doubled(self) -> list[str]:
        counted = Counter((run.run_id, run.attempt) for run in self.runs())
        return [f"{run_id} #{attempt}" for (run_id, attempt), n in counted.items() if n > 1]
