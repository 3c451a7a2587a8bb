"""Every handler that comes with Tocsin keeps the promises of the port."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from tests.broker.worlds import kafka_world
from tests.broker.worlds import opened as opened_world
from tests.worker.handlers.container_support import (
    container_handler,
    container_run,
    engine,
    first_labelled,
)
from tests.worker.handlers.http_support import Dripping
from tests.worker.handlers.kafka_support import kafka_handler, kafka_run, silent_broker
from tests.worker.handlers.kubernetes_api import kubernetes_api, kubernetes_run
from tests.worker.handlers.process_support import process_run
from tests.worker.handlers.server import server
from tests.worker.handlers.test_task import MODULES, TASKS, appears, run_of
from tocsin.broker.local import BrokerAddress
from tocsin.model.jobs import Handler
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.kubernetes.handler import KubernetesHandler
from tocsin_worker.handlers.kubernetes.jobs import by_file
from tocsin_worker.handlers.kubernetes.watch import Patience
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.process.handler import ProcessHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.handlers.task.handler import TaskHandler
from tocsin_worker.testing import Case, CaseFactory, HandlerConformance, handler_run


def noop(request: pytest.FixtureRequest) -> CaseFactory:
    @asynccontextmanager
    async def case() -> AsyncIterator[Case]:
        yield Case(NoopHandler(), handler_run("noop", payload={"ignored": True}))

    return case


def http(request: pytest.FixtureRequest) -> CaseFactory:
    @asynccontextmanager
    async def case() -> AsyncIterator[Case]:
        async with server() as site:
            site.answer("/500", 500, b"\xff\x00")
            site.answers["/slow"] = slow = Dripping(200)
            good, bad, hanging = (
                handler_run("http", {"url": site.url(path)}) for path in ("/good", "/500", "/slow")
            )
            list_for_object = Handler(type="http", config=b"[1]")
            unusable = msgspec.structs.replace(good, handler=list_for_object)
            yield Case(
                HttpHandler(["127.0.0.0/8"], Secrets(None, {})),
                good,
                (bad, unusable),
                (hanging, slow.asked),
            )

    return case


def kafka(request: pytest.FixtureRequest) -> CaseFactory:
    broker: BrokerAddress = request.getfixturevalue("broker")
    prefix: str = request.getfixturevalue("prefix")

    @asynccontextmanager
    async def case() -> AsyncIterator[Case]:
        with opened_world(kafka_world(broker.bootstrap, prefix)) as world:
            topic = world.topic()
            async with silent_broker() as (address, asked):
                handler = kafka_handler(broker, {"silent": {"bootstrap.servers": address}})
                failing = (kafka_run("no such topic", 1), kafka_run(topic))
                hanging = kafka_run(topic, 1, cluster="silent")
                yield Case(handler, kafka_run(topic, {"a": 1}), failing, (hanging, asked))

    return case


def process(request: pytest.FixtureRequest) -> CaseFactory:
    shown: Path = request.getfixturevalue("tmp_path") / "begun"

    @asynccontextmanager
    async def case() -> AsyncIterator[Case]:
        begun = asyncio.Event()
        os.mkfifo(shown)
        hanging = process_run("sh", "-c", f"echo > {shown}; exec sleep 1000")
        fifo = os.open(shown, os.O_RDONLY | os.O_NONBLOCK)
        asyncio.get_running_loop().add_reader(fifo, begun.set)
        handler = ProcessHandler(Secrets(None, {}))
        failing = (process_run("false"), process_run("/absent"), process_run())
        yield Case(handler, process_run("cat", payload=1), failing, (hanging, begun))
        asyncio.get_running_loop().remove_reader(fifo)
        os.close(fifo)

    return case


def container(request: pytest.FixtureRequest) -> CaseFactory:
    socket: Path = request.getfixturevalue("engine_socket")

    @asynccontextmanager
    async def case() -> AsyncIterator[Case]:
        async with container_handler(socket) as handler, engine(socket) as looking:
            begun = asyncio.Event()

            async def watch() -> None:
                await first_labelled(looking, "io.tocsin.job-id=hanging")
                begun.set()

            watching = asyncio.ensure_future(watch())
            hanging = msgspec.structs.replace(
                container_run("/bin/sleep", "99", stop_grace=0), job_id="hanging"
            )
            good, failing = container_run("/bin/cat", payload=1), (container_run("/bin/false"),)
            yield Case(handler, good, failing, (hanging, begun))
            watching.cancel()
            await asyncio.wait([watching])

    return case


def kubernetes(request: pytest.FixtureRequest) -> CaseFactory:
    folder: Path = request.getfixturevalue("tmp_path")

    @asynccontextmanager
    async def case() -> AsyncIterator[Case]:
        asked = asyncio.Event()
        elsewhere = {"failing": "job-failed", "hanging": "job-running"}
        async with kubernetes_api(elsewhere=elsewhere, looks={"hanging": asked}) as api:
            handler = KubernetesHandler(by_file(api.kubeconfig(folder)), "default", Patience(0.01))
            failing = (kubernetes_run(namespace="failing"), kubernetes_run("x" * 100_000))
            hanging = kubernetes_run(namespace="hanging")
            yield Case(handler, kubernetes_run(1), failing, (hanging, asked))

    return case


def tasks(suffix: str) -> Callable[[pytest.FixtureRequest], CaseFactory]:
    """Tasks of one kind; they say that they have begun by making a file."""

    def tasks_of_a_kind(request: pytest.FixtureRequest) -> CaseFactory:
        begun: Path = request.getfixturevalue("tmp_path") / "begun"

        @asynccontextmanager
        async def case() -> AsyncIterator[Case]:
            noticed = asyncio.Event()
            watching = asyncio.ensure_future(notice(begun, noticed))
            hanging = run_of(f"until_cancelled{suffix}", {"begun": str(begun)})
            yield Case(
                TaskHandler(TASKS, MODULES),
                run_of(f"tell{suffix}", {"text": "good"}),
                (run_of(f"fail{suffix}", ["luck"]), run_of(f"tell{suffix}", 7)),
                (hanging, noticed),
            )
            watching.cancel()

        return case

    return tasks_of_a_kind


async def notice(begun: Path, noticed: asyncio.Event) -> None:
    await appears(begun)
    noticed.set()


HANDLERS = (
    noop,
    http,
    process,
    container,
    kubernetes,
    pytest.param(tasks(""), id="tasks"),
    pytest.param(tasks("_async"), id="tasks_async"),
    pytest.param(tasks("_in_process"), id="tasks_in_process"),
    pytest.param(kafka, marks=pytest.mark.kafka),
)


class TestHandlers(HandlerConformance):
    @pytest.fixture(params=HANDLERS)
    def case(self, request: pytest.FixtureRequest) -> CaseFactory:
        made: CaseFactory = request.param(request)
        return made
