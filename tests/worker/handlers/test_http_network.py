"""Failures of the network, and of an answer on its way, to handler `http`."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from tests.worker.handlers.http_support import (
    Dripping,
    fail,
    http_run,
    play,
    succeed,
)
from tests.worker.handlers.server import Server, self_signed, server
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.testing import CONTEXT


def test_nobody_listening_is_a_failure_worth_a_retry() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            free_port = listener.getsockname()[1]
        error = await fail(client, http_run(f"http://127.0.0.1:{free_port}/"))
        assert (error.code, error.permanent) == ("connect", False)

    play(scenario)


def test_a_server_that_cannot_speak_tls_is_a_failure_worth_a_retry() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url().replace("http:", "https:")))
        assert (error.code, error.permanent) == ("connect", False)

    play(scenario)


def test_a_certificate_that_is_not_trusted_is_a_failure_worth_a_retry() -> None:
    """Such an error is a `ValueError` too, which elsewhere means a wrong configuration."""

    async def scenario(site: Server, client: HttpHandler) -> None:
        async with server(tls=self_signed()) as secure:
            error = await fail(client, http_run(secure.url().replace("http:", "https:")))
            assert (error.code, error.permanent) == ("connect", False)
            assert "ertificate" in error.message
            assert secure.received == []

    play(scenario)


async def reset(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def body_cut_short(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b"not a hundred")
    assert request.transport is not None
    request.transport.close()
    return response


async def empty_reply(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@pytest.mark.parametrize("answer", [reset, empty_reply, body_cut_short])
def test_b123_b124_a_connection_that_breaks_is_a_failure_worth_a_retry(
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]],
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answers["/"] = answer
        error = await fail(client, http_run(site.url()))
        assert (error.code, error.permanent) == ("connect", False)

    play(scenario)


def test_b124_a_slow_body_ends_with_the_attempt_and_its_connection_with_it() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answers["/"] = dripping = Dripping(200)
        attempt = asyncio.ensure_future(client.execute(http_run(site.url()), CONTEXT))
        await dripping.asked.wait()
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt
        await dripping.gone.wait()

    play(scenario)


def test_b124_a_failure_does_not_wait_for_its_body() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answers["/"] = dripping = Dripping(504)
        error = await fail(client, http_run(site.url()))
        assert "answered 504" in error.message
        await dripping.gone.wait()

    play(scenario)


def test_the_job_may_say_that_a_failure_of_the_network_is_not_retried() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answers["/"] = reset
        error = await fail(client, http_run(site.url(), retry_on=["500-599"]))
        assert (error.code, error.permanent) == ("connect", True)

    play(scenario)


def test_b124_a_504_on_a_connection_that_stays_open_is_a_failure_at_once() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 504, b"gateway time-out", Connection="keep-alive")
        error = await fail(client, http_run(site.url()))
        assert (error.code, error.permanent) == ("http_status", False)
        site.answer("/", 200)
        await succeed(client, http_run(site.url()))

    play(scenario)
