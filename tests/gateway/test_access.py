"""Who may ask what."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[httpx.Client]:
    """A gateway with a token."""
    with Harness(tmp_path, msgspec.structs.replace(PATIENT, token="s3cret")) as harness:
        yield harness.http


@pytest.mark.parametrize("header", [None, "Bearer wrong", "Bearer ", "s3cret", "Basic s3cret"])
def test_without_the_token_nothing_is_answered(guarded: httpx.Client, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    answer = guarded.get("/v1/jobs", headers=headers)

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_with_the_token_any_host_name_is_good(guarded: httpx.Client) -> None:
    headers = {"Authorization": "Bearer s3cret", "Host": "tocsin.example"}

    assert guarded.get("/v1/jobs", headers=headers).status_code == 200


def test_health_and_documentation_need_no_token(guarded: httpx.Client) -> None:
    for path in ("/healthz/live", "/healthz/ready", "/metrics", "/version", "/docs"):
        assert guarded.get(path).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8080", "10.0.0.1"])
def test_without_a_token_only_this_machine_is_answered(http: httpx.Client, host: str) -> None:
    """A page in a browser may have made its own name resolve to 127.0.0.1."""
    assert http.get("/v1/jobs", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8080", "[::1]:8080"])
def test_this_machine_has_several_names(http: httpx.Client, host: str) -> None:
    assert http.get("/v1/jobs", headers={"Host": host}).status_code == 200


EVIL = "https://evil.example"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": "http://localhost.evil.example"},
        {"Origin": "http://[evil"},
        {"Origin": EVIL, "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_page_of_another_site_commands_nothing(
    http: httpx.Client, headers: dict[str, str]
) -> None:
    """A browser sends a POST without a body for it, and asks nobody."""
    http.put("/v1/jobs/a", json=job())
    answer = http.post("/v1/jobs/a/pause", headers=headers)

    assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")
    assert http.get("/v1/jobs/a").json()["status"] == "active"


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://localhost:8080", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "http://127.0.0.1:3000", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://[::1]:3000"},
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
    ],
)
def test_a_page_of_this_machine_may_ask(http: httpx.Client, headers: dict[str, str]) -> None:
    assert http.get("/v1/jobs", headers=headers).status_code == 200


def test_a_page_that_the_settings_name_may_ask(tmp_path: Path) -> None:
    options = msgspec.structs.replace(PATIENT, cors_origins=("https://ops.example",))
    with Harness(tmp_path, options) as harness:
        named = {"Origin": "https://ops.example", "Sec-Fetch-Site": "cross-site"}

        assert harness.http.get("/v1/jobs", headers=named).status_code == 200
        assert harness.http.get("/v1/jobs", headers={"Origin": EVIL}).status_code == 403


def test_with_a_token_its_holder_decides_which_page_asks(guarded: httpx.Client) -> None:
    headers = {"Authorization": "Bearer s3cret", "Origin": EVIL, "Sec-Fetch-Site": "cross-site"}

    assert guarded.get("/v1/jobs", headers=headers).status_code == 200


def test_a_tenant_sees_only_its_own(harness: Harness) -> None:
    acme = {"Tocsin-Tenant": "acme"}
    harness.http.put("/v1/jobs/a", json=job(), headers=acme)
    run_id = harness.http.post("/v1/jobs/a/trigger", headers=acme).json()["run_id"]

    assert harness.http.get("/v1/jobs").json() == {"items": []}
    assert harness.http.get("/v1/runs").json() == {"items": []}
    assert harness.http.get("/v1/jobs/a").status_code == 404
    assert harness.http.get("/v1/jobs/a/runs").status_code == 404
    assert harness.http.get(f"/v1/runs/{run_id}").status_code == 404
    assert harness.http.post(f"/v1/runs/{run_id}/cancel").status_code == 404
    assert harness.http.get(f"/v1/runs/{run_id}", headers=acme).status_code == 200


def test_a_tenant_that_cannot_be_is_refused(http: httpx.Client) -> None:
    assert http.get("/v1/jobs", headers={"Tocsin-Tenant": "A/B"}).status_code == 400


def test_the_callers_request_id_comes_back(http: httpx.Client) -> None:
    mine = http.get("/v1/jobs/x", headers={"X-Request-Id": "mine-1"})
    bad = http.get("/v1/jobs/x", headers={"X-Request-Id": "<script>"})

    assert mine.headers["X-Request-Id"] == mine.json()["request_id"] == "mine-1"
    assert "script" not in bad.headers["X-Request-Id"]
