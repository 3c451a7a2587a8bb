"""Name resolution of handler `http`: whom a name server that does not answer holds up."""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

import msgspec
import pytest
import uvloop

from tests.worker.handlers.http_support import http_handler, http_run, succeed
from tests.worker.handlers.process_support import process_run
from tests.worker.handlers.server import Server, server
from tocsin_worker.execution import Execution, Stop
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.process.handler import ProcessHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT
from tocsin_worker.timers import LoopTimers, SameDelay

LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
NewLoop = Callable[[], asyncio.AbstractEventLoop]
SLOW = 100
"""More than any pool of an event loop has threads."""

PATIENCE = 30


class NameServer:
    """What `getaddrinfo` asks: it leaves names in `.slow.example` without an answer until
    `answer` is set, and knows all others as 127.0.0.1."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer = Event()

    def __call__(self, host: str, port: int, *_: object) -> list[Any]:
        self.asked.append(host)
        if host.endswith(".slow.example"):
            self.answer.wait()
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> NameServer:
    asked = NameServer()
    monkeypatch.setattr(socket, "getaddrinfo", asked)
    return asked


Scenario = Callable[[Server, HttpHandler], Awaitable[None]]


def play(names: NameServer, scenario: Scenario, new_loop: NewLoop = asyncio.new_event_loop) -> None:
    async def main() -> None:
        async with server() as site, http_handler() as client:
            try:
                async with asyncio.timeout(PATIENCE):
                    await scenario(site, client)
            finally:
                names.answer.set()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())


async def begin_slow_ones(names: NameServer, client: HttpHandler) -> "list[asyncio.Task[Any]]":
    """As soon as all of them wait for the name server."""
    runs = [http_run(f"http://h{number}.slow.example:1/") for number in range(SLOW)]
    slow = [asyncio.create_task(client.execute(run, CONTEXT)) for run in runs]
    while len(names.asked) < SLOW:  # noqa: ASYNC110 - threads cannot set an event of this loop
        await asyncio.sleep(0.005)
    return slow


@LOOPS
def test_names_without_an_answer_hold_up_no_other_name_and_no_other_handler(
    names: NameServer, new_loop: NewLoop
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        slow = await begin_slow_ones(names, client)
        port = site.url().rsplit(":", 1)[1].strip("/")
        await succeed(client, http_run(f"http://swift.example:{port}/"))
        programs = ProcessHandler(Secrets(None, {}))
        await programs.execute(process_run(sys.executable, "-c", "pass"), CONTEXT)
        await programs.close()
        assert await asyncio.to_thread(lambda: "of any other handler") == "of any other handler"
        assert not any(attempt.done() for attempt in slow)
        for attempt in slow:
            attempt.cancel()

    play(names, scenario, new_loop)


@LOOPS
def test_a_look_up_ends_with_the_time_of_its_attempt(names: NameServer, new_loop: NewLoop) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        ended = asyncio.get_running_loop().create_future()
        run = http_run("http://h.slow.example/")
        timers = LoopTimers()
        Execution(
            run=msgspec.structs.replace(run, timeout_ms=50),
            handler=client,
            context=CONTEXT,
            timers=timers,
            first_look=SameDelay(timers, 1_000),
            at_work=lambda: None,
            ended=ended.set_result,
        )
        assert await ended is Stop.TIMEOUT

    play(names, scenario, new_loop)
