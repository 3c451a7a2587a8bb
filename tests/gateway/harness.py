"""A gateway over a Kafka in memory, asked over HTTP, with everything on one thread.

While a request is under way the harness lets the producer, the scheduler and the projector take
turns, so that what happens does not depend on the machine's speed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
from starlette.types import Message, Scope

from tests.gateway.fake_scheduler import FakeScheduler
from tocsin.metrics import Metrics
from tocsin.model.jobs import PRIORITIES
from tocsin.testing import MemoryCluster, SettableClock
from tocsin.wire.topics import Topics
from tocsin_gateway.gateway import Gateway, Options
from tocsin_gateway.projection.database import Database, open_database, sqlite_url
from tocsin_gateway.projection.projector import Projector

PARTITIONS = 4
_HALF_A_DAY_MS = 43_200_000
_LONGEST_ANSWER_S = 60.0
PATIENT = Options(durable_timeout=10.0, fold_timeout=10.0, run_timeout=10.0)


def topic_names(topics: Topics, *pools: str) -> list[str]:
    """All topics that the gateway and the fake scheduler use."""
    names = [topics.jobs, topics.signals, topics.outcomes, topics.events, topics.dead]
    return names + [topics.runs(p, pool) for pool in ("default", *pools) for p in PRIORITIES]


def memory_cluster(topics: Topics, *pools: str) -> MemoryCluster:
    """A cluster with those topics."""
    cluster = MemoryCluster(SettableClock())
    for name in topic_names(topics, *pools):
        cluster.create_topic(name, PARTITIONS, compacted=name == topics.jobs)
    for name in (topics.access, topics.audit):
        cluster.create_topic(name, 1, compacted=name == topics.access)
    return cluster


class Harness:
    """Use in a `with` block. The attributes that are switches stop a part of the system."""

    def __init__(
        self,
        folder: Path,
        options: Options = PATIENT,
        *,
        cluster: MemoryCluster | None = None,
        scheduler: FakeScheduler | None = None,
        database_url: str | None = None,
        database: Database | None = None,
    ) -> None:
        self.topics = Topics()
        self.cluster = cluster or memory_cluster(self.topics)
        self.scheduler = scheduler or FakeScheduler(self.cluster, self.topics, PARTITIONS)
        self.database = database or open_database(
            database_url or sqlite_url(folder / "gateway.sqlite"), self.cluster.clock.now_ms()
        )
        self.gateway = Gateway(
            self.cluster, self.database, self.topics, Metrics(), self.cluster.clock, options
        )
        self.projector = Projector(
            self.cluster,
            self.database,
            self.topics,
            self.gateway.audience,
            clock=self.cluster.clock,
            compaction_lag_ms=options.compaction_lag_ms,
            retention=options.retention,
        )
        self.kafka_acknowledges = True
        self.scheduler_runs = True
        self.projector_runs = True
        self._held_at: int | None = None
        self._runner = asyncio.Runner()
        self._transport = httpx.ASGITransport(self.gateway.app)
        self.http = httpx.Client(
            transport=PumpingTransport(self), base_url="http://localhost:8080", timeout=30
        )

    def pump(self) -> None:
        """One turn of everybody."""
        if self.kafka_acknowledges:
            self.gateway.producer.poll(0)
        if self.scheduler_runs:
            self.scheduler.step()
        if self._held_at is not None and self._jobs_written() > self._held_at:
            self._held_at = None
            self.projector_runs = True
        if self.projector_runs:
            self.gateway.token_reader.step(0)
            self.projector.step(0)

    def settle(self) -> None:
        """Until all that is written is in the read model."""
        for _ in range(4):
            self.pump()

    def let_pass(self, duration_ms: int) -> None:
        """Time passes while everybody is awake."""
        while duration_ms > 0:
            self.cluster.clock.advance(min(duration_ms, _HALF_A_DAY_MS))
            duration_ms -= _HALF_A_DAY_MS
            self.settle()

    def send(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request, while everybody goes on."""
        return self._runner.run(self._send(request))

    def send_together(
        self, *requests: httpx.Request, after: Callable[[], None]
    ) -> list[httpx.Response]:
        """The answers to requests that are under way at once; `after` the first answer."""
        return self._runner.run(self._send_together(requests, after))

    def send_holding_the_projector(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request during which the read model stands still until the request's
        own record is in the log."""
        self._held_at = self._jobs_written()
        self.projector_runs = False
        return self.send(request)

    def listen(
        self,
        path: str,
        until: Callable[[str], bool],
        headers: Mapping[str, str] | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> str:
        """What a stream says, until that fits; then its reader goes. `meanwhile` is done once,
        when the stream is open."""
        return self._runner.run(self._listen(path, until, headers or {}, meanwhile))

    async def _listen(
        self,
        path: str,
        until: Callable[[str], bool],
        headers: Mapping[str, str],
        meanwhile: Callable[[], None],
    ) -> str:
        heard = bytearray()
        gone = asyncio.Event()

        async def receive() -> Message:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            heard.extend(message.get("body", b""))

        request = httpx.Request("GET", f"http://localhost:8080{path}", headers=dict(headers))
        serving = asyncio.create_task(self.gateway.app(_scope(request), receive, send))
        is_open = False
        while not until(heard.decode()):
            self.pump()
            if heard and not is_open:
                is_open = True
                meanwhile()
            await asyncio.sleep(0.001)
            assert not serving.done(), heard.decode()
        gone.set()
        await serving
        return heard.decode()

    def _jobs_written(self) -> int:
        topic = self.topics.jobs
        return sum(len(self.cluster.records(topic, p)) for p in range(PARTITIONS))

    async def _send(self, request: httpx.Request) -> httpx.Response:
        sending = asyncio.create_task(self._answer(request))
        async with asyncio.timeout(_LONGEST_ANSWER_S):
            while not sending.done():
                self.pump()
                await asyncio.sleep(0.001)
        return await sending

    async def _send_together(
        self, requests: Sequence[httpx.Request], after: Callable[[], None]
    ) -> list[httpx.Response]:
        sending = [asyncio.create_task(self._answer(request)) for request in requests]
        while not all(task.done() for task in sending):
            if any(task.done() for task in sending):
                after()
            self.pump()
            await asyncio.sleep(0.001)
        return [await task for task in sending]

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        own = httpx.Request(
            request.method, request.url, headers=request.headers, content=request.read()
        )
        answer = await self._transport.handle_async_request(own)
        body = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=body)

    def __enter__(self) -> Self:
        self.gateway.token_reader.open()
        self.projector.open()
        self.settle()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.http.close()
        self._runner.close()
        self.gateway.streams.close()
        self.gateway.token_reader.close()
        self.projector.close()
        self.gateway.producer.close()
        self.database.close()


def _scope(request: httpx.Request) -> Scope:
    """What a server tells an application of a request (ASGI)."""
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.partition(b"?")[0],
        "query_string": request.url.query,
        "root_path": "",
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "server": (request.url.host, request.url.port),
        "client": ("127.0.0.1", 1),
    }


class PumpingTransport(httpx.BaseTransport):
    """Lets an ordinary client ask the harness."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._harness.send(request)
