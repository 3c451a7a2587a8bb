"""The client for an event loop does what the other does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from inspect import signature
from pathlib import Path

import httpx
import pytest

from tests.gateway.harness import Harness
from tocsin import AsyncClient, Client
from tocsin.client import NotFound, StillRunning
from tocsin.client.exchange import Watch
from tocsin.model.keys import JobKey

JOB = {"schedule": {"cron": "0 7 * * *"}, "handler": {"type": "noop"}}
METHODS = [name for name in vars(Client) if not name.startswith("_") and name != "send"]


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with Harness(tmp_path) as made:
        yield made


class AsyncPumping(httpx.AsyncBaseTransport):
    """Lets the harness answer from a thread, as it has an event loop of its own."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return await asyncio.to_thread(self._harness.send, request)


def ask(harness: Harness, work: Callable[[AsyncClient], Awaitable[None]]) -> None:
    """Work on a client that the harness answers."""

    async def run() -> None:
        async with AsyncClient("http://localhost", transport=AsyncPumping(harness)) as client:
            await work(client)

    asyncio.run(run())


@pytest.mark.parametrize("name", METHODS)
def test_both_clients_have_the_same_methods(name: str) -> None:
    one, other = getattr(Client, name), getattr(AsyncClient, name)

    assert signature(one).parameters.keys() == signature(other).parameters.keys()
    assert next(iter(signature(one).parameters)) == "self"
    assert one.__doc__
    assert other.__doc__


async def names(items: AsyncIterator[object]) -> list[str]:
    return [item.job_id async for item in items]  # type: ignore[attr-defined]


def test_jobs_are_put_listed_and_deleted(harness: Harness) -> None:
    async def work(tocsin: AsyncClient) -> None:
        for number in range(5):
            await tocsin.put(f"job-{number}", JOB, owner="me")
        assert (await tocsin.get("job-3")).owner == "me"
        assert await names(tocsin.list(page_size=2)) == [f"job-{n}" for n in range(5)]
        await tocsin.delete("job-3")
        with pytest.raises(NotFound):
            await tocsin.get("job-3")

    ask(harness, work)


def test_a_run_is_waited_for(harness: Harness) -> None:
    async def work(tocsin: AsyncClient) -> None:
        await tocsin.put("j", JOB)
        run = await tocsin.trigger("j", payload={"by": "hand"})
        with pytest.raises(StillRunning):
            await tocsin.wait_for_run(run.run_id, timeout=0.1)
        now = harness.cluster.clock.now_ms()
        emitted = harness.scheduler.run_of(JobKey("default", "j"), now, run.run_id[-10:])
        harness.scheduler.report(emitted, "succeeded", result=b"3")
        ended = await tocsin.wait_for_run(run.run_id, timeout=10)
        assert (ended.status, ended.result) == ("succeeded", 3)
        assert (await tocsin.stats("j")).occurrences == {"succeeded": 1}
        assert (await tocsin.stats()).jobs == {"active": 1, "paused": 0, "completed": 0}

    ask(harness, work)


def test_looks_grow_further_apart_and_end_in_time() -> None:
    watch = Watch("r", timeout=30.0)
    pauses = [watch.next_look(None) for _ in range(12)]

    assert pauses == sorted(pauses)
    assert pauses[0] < 0.1
    assert pauses[-1] == 1.0
