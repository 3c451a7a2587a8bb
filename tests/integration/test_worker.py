"""Workers as real processes over a real Kafka: what stands in the log after all that happens."""

import asyncio
import json
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path

import msgspec
import pytest
from aiohttp import ClientConnectionError, ClientSession, web

from tests.worker.handlers.server import Server, server
from tests.worker.support import HOUR_MS, a_run
from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.local import BrokerAddress, LocalBroker
from tocsin.broker.port import LogReader, TopicPartition
from tocsin.model.jobs import Handler
from tocsin.model.runs import Cancel, Outcome, Run
from tocsin.wire import codec
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

PARTITIONS = 2
PATIENCE = 60.0
PROGRAM = Path(__file__).with_name("worker_process.py")
ROOT = Path(__file__).parents[2]
_numbers = count(1)


class Installation:
    """Topics under a prefix of their own, and what the scheduler would write and read there."""

    def __init__(self, bootstrap: str, prefix: str) -> None:
        self.bootstrap = bootstrap
        self.topics = Topics(prefix)
        self.cluster = KafkaCluster(bootstrap)
        self._producer = self.cluster.producer()
        admin = TopicAdmin(bootstrap)
        specs = shipped_topics().expand(self.topics, partitions=PARTITIONS, replication=1)
        admin.apply(admin.plan(specs))
        self._reader = self._reading()
        self.outcomes: list[Outcome] = []

    def emit(self, *runs: Run) -> None:
        for run in runs:
            topic = self.topics.runs(run.priority)
            self._producer.produce(topic, run.run_id.encode(), codec.RUN.encode(run))
        assert self._producer.flush(PATIENCE) == 0

    def cancel(self, run: Run) -> None:
        value = codec.CANCEL.encode(Cancel(run_id=run.run_id, attempt=run.attempt))
        self._producer.produce(self.topics.cancels, run.run_id.encode(), value)
        assert self._producer.flush(PATIENCE) == 0

    def read(self) -> list[Outcome]:
        """All outcomes so far; those of a job in the order in which they were written."""
        for record in self._reader.poll_batch(10_000, 0.05):
            self.outcomes.append(codec.OUTCOME.decode(record.value or b""))
        return self.outcomes

    def kinds(self, run: Run) -> list[str]:
        return [o.kind for o in self.outcomes if o.run_id == run.run_id]

    def committed(self) -> int:
        """How many runs of normal priority will not be read again."""
        reader = self.cluster.log_reader(self.topics.worker_group("default", "normal"))
        topic = self.topics.runs("normal")
        places = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        try:
            return sum(c.offset or 0 for c in reader.committed(places, PATIENCE).values())
        finally:
            reader.close()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Read outcomes until the condition holds."""
        async with asyncio.timeout(PATIENCE):
            while True:
                await asyncio.to_thread(self.read)
                if condition():
                    return

    def close(self) -> None:
        self._producer.close()
        self._reader.close()

    def _reading(self) -> LogReader:
        reader = self.cluster.log_reader()
        reader.assign(dict.fromkeys(self._places(), 0))
        return reader

    def _places(self) -> list[TopicPartition]:
        return [TopicPartition(self.topics.outcomes, number) for number in range(PARTITIONS)]


class Process:
    """A worker process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def exit_code(self) -> int:
        async with asyncio.timeout(PATIENCE):
            return await self.process.wait()


@asynccontextmanager
async def worker(installation: Installation, **settings: str) -> AsyncIterator[Process]:
    """Killed at the end, if it has not ended before."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")},
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("libs", "services")),
        "TOCSIN_BROKERS": installation.bootstrap,
        "TOCSIN_PREFIX": installation.topics.prefix,
        "TOCSIN_LISTEN": "127.0.0.1:0",
        "TOCSIN_HTTP_ALLOW": "127.0.0.0/8",
        **{f"TOCSIN_{name}": value for name, value in settings.items()},
    }
    process = await asyncio.create_subprocess_exec(sys.executable, str(PROGRAM), env=environment)
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def a_job_run(job_id: str, **fields: object) -> Run:
    """A run due now."""
    now = clock.now_ms()
    run = a_run(job_id, due_time=now, scheduled_time=now, expires_time=now + HOUR_MS)
    return msgspec.structs.replace(run, **fields)


def http_runs(site: Server, path: str, number: int) -> list[Run]:
    handler = Handler(type="http", config=json.dumps({"url": site.url(path)}).encode())
    return [a_job_run(f"http-{next(_numbers)}", handler=handler) for _ in range(number)]


class Held:
    """An answer that is given when the test says so."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.let_go = asyncio.Event()

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.headers["Idempotency-Key"]] += 1
        await self.let_go.wait()
        return web.Response(text="done")


every_source = pytest.mark.parametrize("source", ["group", "share"])


def play(
    broker: BrokerAddress,
    prefix: str,
    scenario: Callable[[Installation, Server, Held], Awaitable[None]],
) -> None:
    """The path `/held` waits for `Held.let_go`; every other answers at once."""

    async def main(installation: Installation) -> None:
        async with server() as site:
            held = Held()
            site.answers["/held"] = held
            try:
                await scenario(installation, site, held)
            finally:
                held.let_go.set()

    installation = Installation(broker.bootstrap, prefix)
    try:
        asyncio.run(main(installation))
    finally:
        installation.close()


def test_from_a_share_group_runs_are_claimed_and_executed_once(
    broker: BrokerAddress, prefix: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        runs = [a_job_run(f"job-{n}") for n in range(300)]
        installation.emit(*runs)
        async with (
            worker(installation, WORKER_SOURCE="share") as first,
            worker(installation, WORKER_SOURCE="share") as second,
        ):
            await installation.until(lambda: succeeded(installation) == len(runs))
            for process in (first, second):
                process.signal(signal.SIGTERM)
            assert [await first.exit_code(), await second.exit_code()] == [0, 0]
        kinds = Counter(outcome.kind for outcome in installation.read())
        assert kinds["started"] == kinds["succeeded"] == len(runs)

    play(broker, prefix, scenario)


def test_runs_are_executed_once_and_committed(broker: BrokerAddress, prefix: str) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        runs = [a_job_run(f"job-{n}") for n in range(2_000)]
        installation.emit(*runs)
        async with worker(installation) as process:
            await installation.until(lambda: succeeded(installation) >= len(runs))
            await installation.until(lambda: installation.committed() == len(runs))
            process.signal(signal.SIGTERM)
            assert await process.exit_code() == 0
        kinds = Counter(outcome.kind for outcome in installation.read())
        assert kinds["succeeded"] == len(runs)
        assert kinds["started"] <= PARTITIONS * 256
        assert set(kinds) == {"started", "succeeded"}

    play(broker, prefix, scenario)


@pytest.fixture
def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def succeeded(installation: Installation) -> int:
    return len({o.run_id for o in installation.outcomes if o.kind == "succeeded"})


@every_source
def test_a_long_run_is_claimed_and_may_be_cancelled(
    broker: BrokerAddress, prefix: str, source: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        running, queued = http_runs(site, "/held", 2)
        installation.emit(running, queued)
        async with worker(installation, WORKER_SOURCE=source, SLOTS="1"):
            await installation.until(lambda: len(held.asked) == 1)
            first = running if running.run_id in held.asked else queued
            second = queued if first is running else running
            installation.cancel(second)
            installation.cancel(first)
            await installation.until(lambda: installation.kinds(second) == ["cancelled"])
            await installation.until(lambda: installation.kinds(first)[-1] == "cancelled")
        claim = next(o for o in installation.outcomes if o.kind == "started")
        assert (claim.run, claim.lease_ms) == (first, 60_000)
        assert list(held.asked) == [first.run_id]

    play(broker, prefix, scenario)


@every_source
def test_b081_sigterm_finishes_the_work_and_hands_on_the_rest(
    broker: BrokerAddress, prefix: str, source: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        runs = http_runs(site, "/held", 6)
        installation.emit(*runs)
        async with worker(installation, WORKER_SOURCE=source, SLOTS="2", LEASE="3s") as process:
            await installation.until(lambda: len(held.asked) == 2)
            process.signal(signal.SIGTERM)
            heartbeats = _count(installation, "heartbeat")
            await installation.until(lambda: _count(installation, "heartbeat") >= heartbeats + 2)
            async with worker(installation, WORKER_SOURCE=source):
                await installation.until(lambda: dealt_with(installation, held) == 6)
                held.let_go.set()
                assert await process.exit_code() == 0
                await installation.until(lambda: succeeded(installation) == len(held.asked))
        assert set(held.asked.values()) == {1}, "every run was executed by one of the two, once"

    play(broker, prefix, scenario)


def dealt_with(installation: Installation, held: Held) -> int:
    """Runs that have been begun, or handed back to the scheduler."""
    declined = {o.run_id for o in installation.outcomes if o.kind == "declined"}
    return len(declined | held.asked.keys())


def _count(installation: Installation, kind: str) -> int:
    return sum(outcome.kind == kind for outcome in installation.outcomes)


@every_source
def test_b116_grace_and_second_sigterm(broker: BrokerAddress, prefix: str, source: str) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        for signals, settings in ((1, {"GRACE": "1s"}), (2, {"GRACE": "1h"})):
            (run,) = http_runs(site, "/held", 1)
            installation.emit(run)
            async with worker(installation, WORKER_SOURCE=source, **settings) as process:
                await installation.until(lambda run=run: run.run_id in held.asked)  # type: ignore[misc]
                for _ in range(signals):
                    process.signal(signal.SIGTERM)
                    await asyncio.sleep(0.1)
                assert await process.exit_code() == 0
            await installation.until(lambda run=run: "failed" in installation.kinds(run))  # type: ignore[misc]
            error = installation.outcomes[-1].error
            assert error is not None
            assert (error.code, error.permanent) == ("interrupted", False)

    play(broker, prefix, scenario)


def test_b080_after_kill_9_the_runs_in_flight_are_claimed_by_another(
    broker: BrokerAddress, prefix: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        runs = http_runs(site, "/held", 8)
        installation.emit(*(a_job_run(f"noop-{n}") for n in range(700)))
        async with worker(installation) as process:
            await installation.until(lambda: succeeded(installation) == 700)
            await installation.until(lambda: installation.committed() == 700)
            installation.emit(*runs)
            await installation.until(lambda: len(held.asked) == len(runs))
            process.signal(signal.SIGKILL)
            await process.exit_code()
        read = len(installation.read())
        async with worker(installation):
            await installation.until(
                lambda: _claimed(installation, read) >= {run.run_id for run in runs}
            )
            held.let_go.set()
            await installation.until(lambda: succeeded(installation) == 708)
        assert all(held.asked[run.run_id] == 2 for run in runs)

    play(broker, prefix, scenario)


def _claimed(installation: Installation, after: int) -> set[str]:
    return {o.run_id for o in installation.outcomes[after:] if o.kind == "started"}


@every_source
def test_b077_a_worker_frozen_past_its_lease_stops_what_it_no_longer_holds(
    broker: BrokerAddress, prefix: str, source: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        (run,) = http_runs(site, "/held", 1)
        installation.emit(run)
        async with worker(installation, WORKER_SOURCE=source, LEASE="3s") as process:
            await installation.until(lambda: "heartbeat" in installation.kinds(run))
            process.signal(signal.SIGSTOP)
            await asyncio.sleep(4)
            process.signal(signal.SIGCONT)
            await installation.until(lambda: installation.kinds(run)[-1] == "failed")
        error = installation.outcomes[-1].error
        assert error is not None
        assert error.code == "lease_expired"

    play(broker, prefix, scenario)


@every_source
def test_b126_a_run_may_take_longer_than_the_poll_interval(
    broker: BrokerAddress, prefix: str, source: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        installation.emit(*http_runs(site, "/held", 1))
        hasty = {"KAFKA__max.poll.interval.ms": "12000", "KAFKA__session.timeout.ms": "6000"}
        async with (
            worker(installation, WORKER_SOURCE=source, SLOTS="1", **hasty),
            worker(installation, WORKER_SOURCE=source, **hasty),
        ):
            await installation.until(lambda: bool(held.asked))
            await asyncio.sleep(14)
            held.let_go.set()
            await installation.until(lambda: succeeded(installation) == 1)
        assert list(held.asked.values()) == [1]

    play(broker, prefix, scenario)


def test_b166_a_limit_for_a_host_is_kept_when_hundreds_are_due_at_once(
    broker: BrokerAddress, prefix: str
) -> None:
    """And what calls nobody does not wait behind them."""
    most, calls, others = 5, 100, 50

    class Counting:
        def __init__(self) -> None:
            self.now = self.highest = 0

        async def __call__(self, request: web.Request) -> web.StreamResponse:
            self.now += 1
            self.highest = max(self.highest, self.now)
            await asyncio.sleep(0.05)
            self.now -= 1
            return web.Response(text="done")

    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        site.answers["/counted"] = counting = Counting()
        async with worker(installation, HOST_SLOTS=str(most), SLOTS="64"):
            installation.emit(a_job_run("first"))
            await installation.until(lambda: succeeded(installation) == 1)
            installation.emit(*http_runs(site, "/counted", calls))
            installation.emit(*(a_job_run(f"noop-{n}") for n in range(others)))
            await installation.until(lambda: succeeded(installation) == 1 + calls + others)
        assert counting.highest == most
        ends = {o.job_id: o.time for o in installation.outcomes if o.kind == "succeeded"}
        noops, called = (
            max(time for name, time in ends.items() if name.startswith(kind))
            for kind in ("noop", "http")
        )
        assert noops < called

    play(broker, prefix, scenario)


def test_b142_a_worker_that_idles_through_a_restart_of_kafka_takes_runs_afterwards(
    own_broker: LocalBroker, prefix: str
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        async with worker(installation):
            installation.emit(a_job_run("before"))
            await installation.until(lambda: succeeded(installation) == 1)
            await asyncio.to_thread(own_broker.kill)
            await asyncio.sleep(8)
            await asyncio.to_thread(own_broker.restart)
            installation.emit(a_job_run("after"))
            await installation.until(lambda: succeeded(installation) == 2)

    play(BrokerAddress(own_broker.bootstrap), prefix, scenario)


def test_without_its_topics_it_does_not_begin(broker: BrokerAddress, prefix: str) -> None:
    async def main() -> None:
        installation = Installation(broker.bootstrap, prefix)
        installation.close()
        installation.topics = Topics(f"{prefix}-other")
        async with worker(installation) as process:
            assert await process.exit_code() == 1

    asyncio.run(main())


def test_without_kafka_it_waits_and_says_for_what(
    broker: BrokerAddress, prefix: str, free_port: int
) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            installation.bootstrap = f"127.0.0.1:{nobody.getsockname()[1]}"
        async with worker(installation, LISTEN=f"127.0.0.1:{free_port}") as process:
            await not_ready_because(free_port, "waiting for Kafka")
            process.signal(signal.SIGTERM)
            assert await process.exit_code() == 0

    play(broker, prefix, scenario)


async def not_ready_because(port: int, beginning: str) -> str:
    """The reason for not being ready, once it begins so."""
    async with asyncio.timeout(PATIENCE), ClientSession(f"http://127.0.0.1:{port}") as client:
        while True:
            with suppress(ClientConnectionError):
                async with client.get("/healthz/ready") as answer:
                    reason = str((await answer.json()).get("reason", ""))
                    if answer.status == 503 and reason.startswith(beginning):
                        return reason
            await asyncio.sleep(0.05)


def test_health_and_metrics_are_served(broker: BrokerAddress, prefix: str, free_port: int) -> None:
    async def scenario(installation: Installation, site: Server, held: Held) -> None:
        installation.emit(a_job_run("job"))
        url = f"http://127.0.0.1:{free_port}"
        async with worker(installation, LISTEN=f"127.0.0.1:{free_port}"):
            await installation.until(lambda: succeeded(installation) == 1)
            async with ClientSession(url) as client:
                async with client.get("/healthz/ready") as ready:
                    assert ready.status == 200
                async with client.get("/metrics") as metrics:
                    text = await metrics.text()
        assert 'tocsin_outcomes_total{handler="noop",kind="succeeded"} 1.0' in text
        assert "tocsin_start_lateness_seconds_count 1.0" in text

    play(broker, prefix, scenario)
