"""Where handler `http` follows a redirect, and what it takes along."""

import dataclasses
from typing import Any

import pytest

from tests.worker.handlers.http_support import (
    Names,
    fail,
    http_run,
    play,
    succeed,
)
from tests.worker.handlers.server import Server, server
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

CREDENTIALS: dict[str, Any] = {
    "auth": {"bearer": "secret://token"},
    "headers": {"Cookie": "c", "X-Key": "secret://token"},
    "signing": {"secrets": ["secret://signing"]},
}
SECRETS = Secrets(None, {"TOCSIN_SECRET_TOKEN": "t0ken", "TOCSIN_SECRET_SIGNING": "whsec_AAAA"})


@pytest.mark.parametrize(
    ("status", "method", "after", "body"),
    [(301, "POST", "GET", b""), (302, "POST", "GET", b""), (303, "PUT", "GET", b""),
     (307, "POST", "POST", b'"p"'), (308, "PUT", "PUT", b'"p"'), (302, "PUT", "PUT", b'"p"')],
)  # fmt: skip
def test_b123_redirects_are_followed_as_browsers_do(
    status: int, method: str, after: str, body: bytes
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", status, Location="/there")
        result = await succeed(client, http_run(site.url(), "p", method=method))
        assert result["status"] == 200
        last = site.received[-1]
        assert (last.method, last.path, last.body) == (after, "/there", body)

    play(scenario)


def test_b123_a_redirect_loop_ends_as_a_permanent_failure() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 302, Location="/")
        for config, most in (({}, 5), ({"redirects": 2}, 2)):
            site.received.clear()
            error = await fail(client, http_run(site.url(), **config))
            assert (error.code, error.permanent) == ("http_status", True)
            assert f"more than {most} redirects" in error.message
            assert len(site.received) == most + 1

    play(scenario)


def test_each_host_on_the_way_is_entered_before_it_is_called() -> None:
    """So a worker's limit for a host counts who comes by a redirect, too."""
    entered: list[tuple[str, int]] = []

    async def scenario(site: Server, client: HttpHandler) -> None:
        async def enter(host: str) -> None:
            entered.append((host, len(site.received)))

        site.answer("/", 302, Location=site.url("/b", host="Other.example"))
        site.answer("/b", 302, Location="/c")
        run = http_run(site.url("/", host="shop.example"))
        await client.execute(run, dataclasses.replace(CONTEXT, enter_host=enter))

    play(scenario, resolver=Names("127.0.0.1"))
    assert entered == [("shop.example", 0), ("other.example", 1), ("other.example", 2)]


def test_a_job_may_have_no_redirect_followed() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 302, Location="/there")
        error = await fail(client, http_run(site.url(), redirects=0))
        assert "answered 302" in error.message
        assert len(site.received) == 1

    play(scenario)


def test_a_redirect_without_a_target_is_a_status_like_another() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 302)
        error = await fail(client, http_run(site.url()))
        assert (error.code, error.permanent) == ("http_status", True)

    play(scenario)


def test_credentials_do_not_follow_to_another_origin() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/same", 307, Location=site.url("/other"))
        site.answer("/other", 307, Location=site.url("/end", host="127.0.0.2"))
        await fail(client, http_run(site.url("/same"), **CREDENTIALS))
        same, other = site.received
        assert "Authorization" in same.headers
        assert "Authorization" in other.headers

    async def crossing(site: Server, client: HttpHandler) -> None:
        async with server() as elsewhere:
            site.answer("/", 307, Location=elsewhere.url("/end"))
            run = http_run(site.url(), **CREDENTIALS)
            await succeed(client, run)
            (end,) = elsewhere.received
            assert (
                not {"Authorization", "Cookie", "X-Key", "webhook-signature"} & end.headers.keys()
            )
            assert end.headers["Idempotency-Key"] == run.run_id

    play(scenario, secrets=SECRETS)
    play(crossing, secrets=SECRETS)
