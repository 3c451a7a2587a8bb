"""TLS and proxies of handler `http`."""

import ssl

import pytest
from aiohttp import BasicAuth

from tests.worker.handlers.http_support import Names, fail, http_run, play, succeed
from tests.worker.handlers.server import SELF_SIGNED, Server, self_signed, server
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.secrets import Secrets

PEM = SELF_SIGNED.read_text()
SECRETS = Secrets(
    None,
    {
        "TOCSIN_SECRET_CA": PEM,
        "TOCSIN_SECRET_CERTIFICATE": PEM[PEM.index("-----BEGIN CERTIFICATE") :],
        "TOCSIN_SECRET_KEY": PEM,
        "TOCSIN_SECRET_BROKEN": "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----",
        "TOCSIN_SECRET_PROXY": "http://ada:s3cret@proxy.example:{port}/",
    },
)


def secure(site: Server) -> str:
    return site.url().replace("http:", "https:")


def asks_for_a_certificate() -> ssl.SSLContext:
    context = self_signed()
    context.load_verify_locations(SELF_SIGNED)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


def test_the_job_may_name_an_authority_of_its_own() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        async with server(tls=self_signed()) as trusted:
            await succeed(client, http_run(secure(trusted), tls={"ca": "secret://ca"}))
            assert (await fail(client, http_run(secure(trusted)))).code == "connect"

    play(scenario, secrets=SECRETS)


def test_the_job_may_trust_whatever_comes() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        async with server(tls=self_signed()) as unknown:
            await succeed(client, http_run(secure(unknown), tls={"verify": False}))

    play(scenario, secrets=SECRETS)


@pytest.mark.parametrize(
    "own",
    [
        {"client_certificate": "secret://ca"},
        {"client_certificate": "secret://certificate", "client_key": "secret://key"},
    ],
)
def test_the_worker_shows_the_job_s_certificate(own: dict[str, str]) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        async with server(tls=asks_for_a_certificate()) as strict:
            tls = {"ca": "secret://ca"}
            await succeed(client, http_run(secure(strict), tls={**tls, **own}))
            assert (await fail(client, http_run(secure(strict), tls=tls))).code == "connect"

    play(scenario, secrets=SECRETS)


def test_a_text_that_is_no_certificate_is_a_failure_that_does_not_repeat_it() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(secure(site), tls={"ca": "secret://broken"}))
        assert (error.code, error.permanent) == ("invalid", False)
        assert "BEGIN" not in error.message

    play(scenario, secrets=SECRETS)


def test_a_request_may_go_through_a_proxy_whose_password_is_a_secret() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        secrets = Secrets(None, {"TOCSIN_SECRET_PROXY": f"http://ada:s3cret@127.0.0.1:{site.port}"})
        through = HttpHandler(("127.0.0.0/8", "api.example"), secrets, Names("93.184.215.14"))
        await succeed(through, http_run("http://api.example/hook", proxy="secret://proxy"))
        await through.close()
        (request,) = site.received
        assert request.headers["Host"] == "api.example"
        given = BasicAuth.decode(request.headers["Proxy-Authorization"])
        assert (given.login, given.password) == ("ada", "s3cret")

    play(scenario)


def test_a_proxy_that_is_away_is_a_failure_worth_a_retry() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        run = http_run("http://93.184.215.14/", proxy="http://127.0.0.1:9")
        error = await fail(client, run)
        assert (error.code, error.permanent) == ("connect", False)

    play(scenario)
