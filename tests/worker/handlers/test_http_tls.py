"""TLS and proxies of handler `http`."""

import asyncio
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


def test_a_proxy_that_refuses_is_told_without_its_password() -> None:
    """Its URL spells the password another way than the secret does."""

    async def scenario(site: Server, client: HttpHandler) -> None:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 407 not p%40ss%2Fw%C3%B6rd\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            writer.close()

        proxy = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = proxy.sockets[0].getsockname()[1]
        url = f"http://ada:p@ss%2Fwörd@127.0.0.1:{port}"
        secrets = Secrets(None, {"TOCSIN_SECRET_PROXY": url})
        through = HttpHandler(("127.0.0.0/8",), secrets, Names("93.184.215.14"))
        run = http_run("https://api.example/hook?token=t0p-s3cret", proxy="secret://proxy")
        error = await fail(through, run)
        await through.close()
        proxy.close()
        assert error.code == "connect"
        assert "407" in error.message
        for told in ("p@ss", "p%40ss", "w%C3%B6rd", "wörd", "t0p-s3cret"):
            assert told not in error.message

    play(scenario)


@pytest.mark.parametrize(
    "answer", [b"no HTTP at all\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"]
)
def test_an_answer_that_is_none_is_told_without_the_query(answer: bytes) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            await writer.drain()
            writer.close()

        babbling = await asyncio.start_server(babble, "127.0.0.1", 0)
        port = babbling.sockets[0].getsockname()[1]
        error = await fail(client, http_run(f"http://127.0.0.1:{port}/hook?token=t0p-s3cret"))
        babbling.close()
        assert error.code == "connect"
        assert "/hook" in error.message
        assert "t0p-s3cret" not in error.message

    play(scenario)


def test_a_proxy_that_is_away_is_a_failure_worth_a_retry() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        run = http_run("http://93.184.215.14/", proxy="http://127.0.0.1:9")
        error = await fail(client, run)
        assert (error.code, error.permanent) == ("connect", False)

    play(scenario)
