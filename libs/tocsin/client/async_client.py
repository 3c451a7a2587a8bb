"""The client for an event loop: the same methods as `Client`, to be awaited."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Self, TypeVar

import httpx

from tocsin.client import calls, operations
from tocsin.client.calls import Call
from tocsin.client.connection import connection_of
from tocsin.client.errors import NotFound
from tocsin.client.exchange import Exchange, Watch
from tocsin.client.listening import Listening
from tocsin.client.methods import aiterating, awaiting
from tocsin.client.models import LiveEvent, RunDetail

T = TypeVar("T")


class AsyncClient:
    """Jobs and runs of one tenant; see `Client`.

    async with AsyncClient() as tocsin:
        run = await tocsin.trigger("hello")
        await tocsin.wait_for_run(run.run_id)
        async for run in tocsin.runs("hello", status="dead"):
            print(run.run_id)
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._retries = retries
        url, headers = connection_of(url, token, tenant)
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )

    put = awaiting(calls.put)
    create = awaiting(calls.create)
    patch = awaiting(calls.patch)
    get = awaiting(calls.get)
    list = aiterating(calls.jobs)
    delete = awaiting(calls.delete)
    pause = awaiting(calls.pause)
    resume = awaiting(calls.resume)
    trigger = awaiting(calls.trigger)
    runs = aiterating(calls.runs)
    run = awaiting(calls.run)
    cancel = awaiting(calls.cancel)
    stats = awaiting(calls.stats)
    backfill = awaiting(operations.backfill)
    backfills = awaiting(operations.backfills)
    cancel_backfill = awaiting(operations.cancel_backfill)
    redrive = awaiting(operations.redrive)
    complete = awaiting(operations.complete)
    bulk_jobs = awaiting(operations.bulk_jobs)
    bulk_runs = awaiting(operations.bulk_runs)
    tokens = awaiting(operations.tokens)
    create_token = awaiting(operations.create_token)
    revoke_token = awaiting(operations.revoke_token)
    preview = awaiting(calls.preview)
    preview_schedule = awaiting(calls.preview_schedule)

    async def wait_for_run(self, run_id: str, timeout: float = 60.0) -> RunDetail:  # noqa: ASYNC109
        """The run when it has ended. Raises `StillRunning` after `timeout` seconds."""
        watch = Watch(run_id, timeout)
        while True:
            try:
                run = await self.run(run_id)
            except NotFound:
                run = None
            if run is not None and run.has_ended:
                return run
            await asyncio.sleep(watch.next_look(run))

    async def events(
        self,
        job_id: str | None = None,
        *,
        types: str | Sequence[str] = (),
        after: str | None = None,
    ) -> AsyncIterator[LiveEvent]:
        """As `Client.events`, for `async for`."""
        listening = Listening(self._retries, job_id, types, after)
        while True:
            request = listening.request(self._http)
            try:
                answer = await self._http.send(request, stream=True)
                async with aclosing(answer):
                    if answer.is_success:
                        async for line in answer.aiter_lines():
                            if (event := listening.read(line)) is not None:
                                yield event
                        pause = listening.ended()
                    else:
                        await answer.aread()
                        pause = listening.refused(answer)
            except httpx.TransportError as error:
                pause = listening.broken(request, error)
            await asyncio.sleep(pause)

    async def send(self, call: Call[T]) -> T:
        """Carry out a call of `tocsin.client.calls`."""
        exchange = Exchange(call, self._http, self._retries)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.send(exchange.request)
            except httpx.TransportError as error:
                outcome = error
            step = exchange.next_step(outcome)
            if not isinstance(step, float):
                return step
            await asyncio.sleep(step)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
