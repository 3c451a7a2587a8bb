"""Access tokens of handler `http`: got by client credentials, kept, and got anew."""

import asyncio
import gc
from typing import Any
from urllib.parse import parse_qs

import pytest
from aiohttp import BasicAuth, web

from tests.worker.handlers.http_support import fail, http_run, play, succeed
from tests.worker.handlers.server import Server
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

SECRETS = Secrets(None, {"TOCSIN_SECRET_CLIENT": "p&ss:wörd"})


class Authority:
    """Gives out token-1, token-2, …; the target takes the newest only."""

    def __init__(self, site: Server, expires_in: float | None = 3600) -> None:
        self.given = 0
        self._expires_in = expires_in
        site.answers["/token"] = self.give
        site.answers["/hook"] = self.take

    async def give(self, request: web.Request) -> web.Response:
        self.given += 1
        lifetime = {} if self._expires_in is None else {"expires_in": self._expires_in}
        return web.json_response({"access_token": f"token-{self.given}", **lifetime})

    async def take(self, request: web.Request) -> web.Response:
        token = request.headers["Authorization"]
        known = token == f"Bearer token-{self.given}"
        return web.Response(status=200 if known else 401, text=token)


def auth(site: Server, **more: str) -> dict[str, Any]:
    oauth2 = {
        "token_url": site.url("/token"),
        "client_id": "tocsin",
        "client_secret": "secret://client",
        **more,
    }
    return {"auth": {"oauth2": oauth2}}


def test_a_token_is_got_by_client_credentials_and_sent() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        Authority(site)
        run = http_run(site.url("/hook"), **auth(site, scope="jobs", audience="billing"))
        await succeed(client, run)
        asked, called = site.received
        form = {name: value for name, (value,) in parse_qs(asked.body.decode()).items()}
        assert form == {
            "grant_type": "client_credentials",
            "scope": "jobs",
            "audience": "billing",
        }
        basic = BasicAuth.decode(asked.headers["Authorization"])
        assert (basic.login, basic.password) == ("tocsin", "p%26ss%3Aw%C3%B6rd")
        assert called.headers["Authorization"] == "Bearer token-1"

    play(scenario, secrets=SECRETS)


@pytest.mark.parametrize(("expires_in", "asked"), [(3600, 1), (None, 1), (1, 5)])
def test_a_token_serves_until_it_ends(expires_in: float | None, asked: int) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        authority = Authority(site, expires_in)
        for _ in range(5):
            await succeed(client, http_run(site.url("/hook"), **auth(site)))
        assert authority.given == asked

    play(scenario, secrets=SECRETS)


def test_runs_that_begin_together_ask_for_one_token() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        authority = Authority(site)
        run = http_run(site.url("/hook"), **auth(site))
        await asyncio.gather(*(client.execute(run, CONTEXT) for _ in range(10)))
        assert authority.given == 1

    play(scenario, secrets=SECRETS)


def test_nothing_is_kept_of_clients_that_get_no_token() -> None:
    def locks() -> int:
        gc.collect()
        return sum(isinstance(each, asyncio.Lock) for each in gc.get_objects())

    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/token", 401)
        before = locks()
        for number in range(50):
            wanted = auth(site, client_id=f"client-{number}")
            await fail(client, http_run(site.url("/hook"), **wanted))
        assert locks() <= before

    play(scenario, secrets=SECRETS)


def test_a_token_that_was_revoked_is_replaced_within_the_attempt() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        authority = Authority(site)
        run = http_run(site.url("/hook"), **auth(site))
        await succeed(client, run)
        authority.given = 7  # as if others had been given since
        result = await succeed(client, run)
        assert result["status"] == 200
        assert authority.given == 8

    play(scenario, secrets=SECRETS)


def test_a_target_that_takes_no_token_is_asked_once() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        Authority(site)
        site.answer("/hook", 401)
        error = await fail(client, http_run(site.url("/hook"), **auth(site)))
        assert (error.code, error.permanent) == ("http_status", True)
        assert [one.path for one in site.received] == ["/token", "/hook"]

    play(scenario, secrets=SECRETS)


@pytest.mark.parametrize(
    ("status", "body", "permanent"),
    [(503, b"", False), (401, b"p&ss", False), (404, b"", True), (200, b"no json", False)],
)
def test_no_token_is_a_failure_that_names_who_gave_none(
    status: int, body: bytes, permanent: bool
) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/token", status, body)
        error = await fail(client, http_run(site.url("/hook"), **auth(site)))
        assert (error.code, error.permanent) == ("http_status", permanent)
        assert "/token" in error.message
        assert [one.path for one in site.received] == ["/token"]

    play(scenario, secrets=SECRETS)


def test_b176_a_token_server_inside_the_network_is_refused() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run("http://api.example/", **auth(site)))
        assert (error.code, site.received) == ("target_refused", [])

    play(scenario, secrets=SECRETS, allow=())


def test_a_token_does_not_stand_in_what_history_keeps() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        Authority(site)
        result = await succeed(client, http_run(site.url("/hook"), **auth(site)))
        assert result["body"] == "Bearer ***"

    play(scenario, secrets=SECRETS)
