"""Credentials of handler `http` come by reference, and stay in the worker."""

import base64
from pathlib import Path

import pytest
from aiohttp import web

from tests.worker.handlers.http_support import (
    fail,
    failure,
    http_run,
    play,
    sent,
    succeed,
)
from tests.worker.handlers.server import Server
from tocsin_worker.handlers.http.answer import MAX_BODY_BYTES
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT


@pytest.mark.parametrize("name", ["api.token", "api-token"])
def test_a_bearer_token_comes_from_the_environment_of_the_worker(name: str) -> None:
    secrets = Secrets(None, {"TOCSIN_SECRET_API_TOKEN": "s3cret"})
    auth = {"bearer": f"secret://{name}"}
    request = sent(lambda url: http_run(url, auth=auth), secrets=secrets)
    assert request.headers["Authorization"] == "Bearer s3cret"


def test_basic_credentials_come_from_files_first(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from file\n")
    secrets = Secrets(tmp_path, {"TOCSIN_SECRET_PASSWORD": "from environment"})
    auth = {"basic": {"username": "ada", "password": "secret://password"}}
    request = sent(lambda url: http_run(url, auth=auth), secrets=secrets)
    credentials = base64.b64decode(request.headers["Authorization"].removeprefix("Basic "))
    assert credentials == b"ada:from file"


@pytest.mark.parametrize(
    ("reference", "permanent"),
    [
        ("secret://absent", False),
        ("secret://HOME", False),
        ("secret://../x", True),
        ("secret://", True),
        ("t0ken", True),
    ],
)
def test_a_secret_that_is_not_there_is_a_failure_another_worker_may_not_have(
    reference: str, permanent: bool, tmp_path: Path
) -> None:
    """What is no reference at all is one nowhere."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "x").write_text("outside")

    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url(), auth={"bearer": reference}))
        assert (error.code, error.permanent) == ("invalid", permanent)
        assert site.received == []

    secrets = Secrets(tmp_path / "directory", {"HOME": "/root"})
    play(scenario, secrets=secrets)


def test_a_secret_with_a_line_break_injects_nothing() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url(), auth={"bearer": "secret://split"}))
        assert (error.code, site.received) == ("invalid", [])
        assert "Injected" not in error.message

    secrets = Secrets(None, {"TOCSIN_SECRET_SPLIT": "t\r\nInjected: 1"})
    play(scenario, secrets=secrets)


def test_a_header_may_be_a_secret() -> None:
    secrets = Secrets(None, {"TOCSIN_SECRET_KEY": "k3y-value"})
    headers = {"X-Api-Key": "secret://key", "X-Plain": "plain"}
    request = sent(lambda url: http_run(url, headers=headers), secrets=secrets)
    assert request.headers["X-Api-Key"] == "k3y-value"
    assert request.headers["X-Plain"] == "plain"


async def echo(request: web.Request) -> web.Response:
    """Sends everything back, as a debugging proxy or a careless target does."""
    told = "\n".join(f"{name}: {value}" for name, value in request.headers.items())
    return web.Response(
        status=500 if request.path == "/500" else 200,
        text=told,
        headers={"X-Echo": request.headers["Authorization"]},
    )


@pytest.mark.parametrize("path", ["/200", "/500"])
@pytest.mark.parametrize(
    "auth",
    [{"bearer": "secret://pass"}, {"basic": {"username": "ada", "password": "secret://pass"}}],
)
def test_a_secret_that_the_target_sends_back_is_not_kept(path: str, auth: object) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answers[path] = echo
        run = http_run(site.url(path), auth=auth, headers={"X-Key": "secret://pass"})
        if path == "/200":
            answer = await client.execute(run, CONTEXT)
            kept, told = answer.result or b"", ""
        else:
            failed = await failure(client, run)
            kept, told = failed.result or b"", failed.error.message
        encoded = base64.b64encode(b"ada:corr3ct horse").decode()
        for text in (kept.decode(), told):
            assert "corr3ct" not in text
            assert encoded not in text
        assert "***" in kept.decode()

    play(scenario, secrets=Secrets(None, {"TOCSIN_SECRET_PASS": "corr3ct horse"}))


def test_a_secret_at_the_very_end_of_what_is_kept_is_not_kept_in_part() -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        site.answer("/", 200, b"x" * (MAX_BODY_BYTES - 5) + b"corr3ct horse" + b"y" * 100)
        result = await succeed(client, http_run(site.url(), auth={"bearer": "secret://pass"}))
        assert "corr3" not in result["body"]
        assert result["truncated"]

    play(scenario, secrets=Secrets(None, {"TOCSIN_SECRET_PASS": "corr3ct horse"}))
