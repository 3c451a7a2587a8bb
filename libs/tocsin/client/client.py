"""The client that blocks: jobs and runs over the gateway's HTTP API."""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TypeVar

import httpx

from tocsin.client import calls, operations
from tocsin.client.calls import Call
from tocsin.client.closing import Closing
from tocsin.client.connection import connection_of
from tocsin.client.errors import NotFound
from tocsin.client.exchange import Exchange, Watch
from tocsin.client.listening import Listening
from tocsin.client.methods import blocking, iterating
from tocsin.client.models import LiveEvent, RunDetail

T = TypeVar("T")


class Client(Closing):
    """Jobs and runs of one tenant.

        with Client() as tocsin:
            tocsin.put("hello", schedule={"every": "10s"}, handler={"type": "noop"})
            run = tocsin.trigger("hello")
            print(tocsin.wait_for_run(run.run_id).status)

    What is not given is taken from the environment: `TOCSIN_GATEWAY_URL`, `TOCSIN_API_TOKEN`,
    `TOCSIN_TENANT`. Every method blocks, and raises the errors of `tocsin.client.errors`. Calls
    are tried again, `retries` times, without doing twice what was asked for once. Safe to share
    by threads.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        tenant: str | None = None,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._retries = retries
        url, headers = connection_of(url, token, tenant)
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )

    put = blocking(calls.put)
    create = blocking(calls.create)
    patch = blocking(calls.patch)
    get = blocking(calls.get)
    list = iterating(calls.jobs)
    delete = blocking(calls.delete)
    pause = blocking(calls.pause)
    resume = blocking(calls.resume)
    trigger = blocking(calls.trigger)
    runs = iterating(calls.runs)
    run = blocking(calls.run)
    cancel = blocking(calls.cancel)
    stats = blocking(calls.stats)
    backfill = blocking(operations.backfill)
    backfills = blocking(operations.backfills)
    cancel_backfill = blocking(operations.cancel_backfill)
    redrive = blocking(operations.redrive)
    complete = blocking(operations.complete)
    bulk_jobs = blocking(operations.bulk_jobs)
    bulk_runs = blocking(operations.bulk_runs)
    tokens = blocking(operations.tokens)
    create_token = blocking(operations.create_token)
    revoke_token = blocking(operations.revoke_token)
    preview = blocking(calls.preview)
    preview_schedule = blocking(calls.preview_schedule)

    def wait_for_run(self, run_id: str, timeout: float = 60.0) -> RunDetail:
        """The run when it has ended. Raises `StillRunning` after `timeout` seconds.

        A run that is not known yet is waited for: a trigger's row may come after its answer.
        """
        watch = Watch(run_id, timeout)
        while True:
            try:
                run = self.run(run_id)
            except NotFound:
                run = None
            if run is not None and run.has_ended:
                return run
            time.sleep(watch.next_look(run))

    def events(
        self,
        job_id: str | None = None,
        *,
        types: str | Sequence[str] = (),
        after: str | None = None,
    ) -> Iterator[LiveEvent]:
        """What happens from now on, without end: decisions of the scheduler and what workers say
        of runs; of one job, or of some types. A broken connection is taken up again.

        after: the `id` of an event heard before; what came behind it is told first.
        """
        listening = Listening(self._retries, job_id, types, after)
        while True:
            request = listening.request(self._http)
            try:
                answer = self._http.send(request, stream=True)
                with closing(answer):
                    if answer.is_success:
                        yield from filter(None, map(listening.read, answer.iter_lines()))
                        pause = listening.ended()
                    else:
                        answer.read()
                        pause = listening.refused(answer)
            except httpx.TransportError as error:
                pause = listening.broken(request, error)
            time.sleep(pause)

    def send(self, call: Call[T]) -> T:
        """Carry out a call of `tocsin.client.calls`."""
        exchange = Exchange(call, self._http, self._retries)
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(exchange.request)
            except httpx.TransportError as error:
                outcome = error
            step = exchange.next_step(outcome)
            if not isinstance(step, float):
                return step
            time.sleep(step)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()
