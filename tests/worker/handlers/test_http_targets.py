"""Handler `http` calls nothing inside the network that its worker stands in."""

import socket

import pytest
from aiohttp.abc import ResolveResult

from tests.worker.handlers.http_support import (
    Names,
    fail,
    http_run,
    play,
    succeed,
)
from tests.worker.handlers.server import Server
from tocsin_worker.handlers.http.handler import HttpHandler


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "2130706433", "[::1]",
                                  "[::ffff:127.0.0.1]", "127.1", "0.0.0.0", "[::]"])  # fmt: skip
def test_b176_internal_targets_are_refused(host: str) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url(host=host)))
        assert (error.code, error.permanent) == ("target_refused", True)
        assert "TOCSIN_HTTP_ALLOW" in error.message
        assert site.received == []

    play(scenario, allow=())


def test_b176_a_redirect_to_an_internal_target_is_refused() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 302, Location="http://169.254.169.254/latest/meta-data")
        error = await fail(client, http_run(site.url()))
        assert error.code == "target_refused"
        assert "169.254.169.254" in error.message

    play(scenario)


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://x/"])
def test_b176_a_redirect_to_another_scheme_is_refused(target: str) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 302, Location=target)
        error = await fail(client, http_run(site.url()))
        assert (error.code, error.permanent) == ("target_refused", True)

    play(scenario)


def test_a_name_that_leads_inside_is_refused_and_named_with_its_address() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url(host="intranet.example")))
        assert error.code == "target_refused"
        assert "intranet.example (127.0.0.1)" in error.message
        assert site.received == []

    play(scenario, allow=(), resolver=Names("127.0.0.1"))


def test_a_host_suffix_allows_what_its_name_leads_to() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        assert (await succeed(client, http_run(site.url(host="api.svc.example"))))["status"] == 200
        error = await fail(client, http_run(site.url(host="api.svc.example.evil")))
        assert error.code == "target_refused"

    play(scenario, allow=("svc.example",), resolver=Names("127.0.0.1"))


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "intranet.example"])
def test_b176_an_internal_target_is_refused_behind_a_proxy_too(host: str) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        run = http_run(f"http://{host}/", proxy=site.url())
        error = await fail(client, run)
        assert (error.code, error.permanent) == ("target_refused", True)
        assert host in error.message
        assert site.received == []

    play(scenario, resolver=Names("10.1.2.3"))


class NoNames(Names):
    """Knows nothing."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        raise OSError("no such name")


def test_behind_a_proxy_a_name_that_the_worker_does_not_know_needs_a_suffix() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        proxy = f"http://127.0.0.1:{site.port}"
        await succeed(client, http_run("http://api.svc.example/", proxy=proxy))
        error = await fail(client, http_run("http://hidden.example/", proxy=proxy))
        assert (error.code, error.permanent) == ("target_refused", False)
        assert "hidden.example" in error.message
        assert [request.headers["Host"] for request in site.received] == ["api.svc.example"]

    play(scenario, allow=("127.0.0.0/8", "svc.example"), resolver=NoNames())


def test_b176_a_proxy_is_a_target_like_another() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run("http://api.example/", proxy=site.url()))
        assert error.code == "target_refused"
        assert site.received == []

    play(scenario, allow=("api.example",), resolver=Names("93.184.215.14"))


def test_b176_a_name_that_changes_its_mind_is_judged_at_each_connection() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        run = http_run(site.url(host="flips.example"))
        assert (await fail(client, run)).code == "target_refused"
        assert (await fail(client, run)).code == "target_refused"
        assert site.received == []

    play(scenario, allow=("10.0.0.0/8",), resolver=Names("127.0.0.2", "127.0.0.1"))
