"""Requests are signed as Standard Webhooks has it."""

import base64
import hashlib
import hmac

import pytest

from tests.worker.handlers.http_support import fail, http_run, play, sent
from tests.worker.handlers.server import Received, Server
from tocsin import clock
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.http.signing import signature_headers
from tocsin_worker.handlers.secrets import Secrets

OLD = "whsec_" + base64.b64encode(b"the old secret").decode()
NEW = "whsec_" + base64.b64encode(b"the new secret").decode()
SECRETS = Secrets(None, {"TOCSIN_SECRET_OLD": OLD, "TOCSIN_SECRET_NEW": NEW})


def verifies(request: Received, secret: str) -> bool:
    """As a receiver checks it, who knows one secret."""
    names = ("webhook-id", "webhook-timestamp")
    content = ".".join(request.headers[name] for name in names).encode() + b"." + request.body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return f"v1,{expected}" in request.headers["webhook-signature"].split()


def test_the_example_of_the_specification() -> None:
    headers = signature_headers(
        ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",),
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1614265330,
        b'{"test": 2432232314}',
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_receivers_with_the_old_and_with_the_new_secret_can_check_it() -> None:
    signing = {"secrets": ["secret://new", "secret://old"]}
    request = sent(lambda url: http_run(url, {"a": "é"}, signing=signing), secrets=SECRETS)
    assert verifies(request, OLD)
    assert verifies(request, NEW)
    assert not verifies(request, "whsec_" + base64.b64encode(b"another").decode())
    assert request.headers["webhook-id"] == request.headers["Idempotency-Key"]
    assert abs(int(request.headers["webhook-timestamp"]) * 1000 - clock.now_ms()) < 60_000


def test_a_request_without_a_body_is_signed_as_empty() -> None:
    signing = {"secrets": ["secret://old"]}
    request = sent(lambda url: http_run(url, method="GET", signing=signing), secrets=SECRETS)
    assert verifies(request, OLD)


def test_a_job_that_asks_for_none_has_no_signature() -> None:
    assert "webhook-signature" not in sent(http_run).headers


@pytest.mark.parametrize("wrong", ["not base64!", "whsec_%%%"])
def test_a_secret_in_another_form_is_a_failure_that_does_not_repeat_it(wrong: str) -> None:
    async def scenario(site: Server, client: HttpHandler) -> None:
        error = await fail(client, http_run(site.url(), signing={"secrets": ["secret://wrong"]}))
        assert (error.code, error.permanent) == ("invalid", False)
        assert wrong not in error.message
        assert site.received == []

    play(scenario, secrets=Secrets(None, {"TOCSIN_SECRET_WRONG": wrong}))
