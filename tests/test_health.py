"""The health server over a real socket."""

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse

import pytest

from tocsin import __version__
from tocsin.health import CannotListen, HealthServer, Version
from tocsin.metrics import Metrics
from tocsin.settings import Address

LOOPBACK = Address("127.0.0.1", 0)
VERSION = Version("2026a", {"job": 7410001})


class Service:
    """What a health server is told about the process it stands in."""

    def __init__(self) -> None:
        self.metrics = Metrics()
        self.not_ready: str | None = "partition 3 is being restored"
        self.stuck: str | None = None
        self.server = HealthServer(
            LOOPBACK,
            self.metrics,
            VERSION,
            ready=lambda: self.not_ready,
            live=lambda: self.stuck,
        )

    def ask(self, path: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(*self.server.address, timeout=10)
        try:
            connection.request(method, path)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    with service.server:
        yield service


def test_readiness_gives_the_reason_until_there_is_none(service: Service) -> None:
    response, body = service.ask("/healthz/ready")
    assert response.status == 503
    assert json.loads(body) == {"status": "not ready", "reason": "partition 3 is being restored"}
    service.not_ready = None
    response, body = service.ask("/healthz/ready")
    assert (response.status, json.loads(body)) == (200, {"status": "ready"})


def test_liveness_is_another_question(service: Service) -> None:
    assert service.ask("/healthz/live")[0].status == 200
    service.stuck = "no transaction for 90 s"
    response, body = service.ask("/healthz/live")
    assert (response.status, json.loads(body)["reason"]) == (503, "no transaction for 90 s")


def test_metrics_are_in_the_text_format(service: Service) -> None:
    service.metrics.partitions_owned.set(8)
    response, body = service.ask("/metrics?name[]=x")
    assert response.getheader("Content-Type", "").startswith("text/plain; version=")
    assert b"tocsin_partitions_owned 8.0" in body.splitlines()


def test_the_version_names_the_zone_data_and_the_schemas(service: Service) -> None:
    _, body = service.ask("/version")
    expected = {"version": __version__, "tzdata": "2026a", "schemas": {"job": 7410001}}
    assert json.loads(body) == expected


def test_head_has_no_body_and_other_paths_are_a_problem(service: Service) -> None:
    response, body = service.ask("/version", "HEAD")
    assert (response.status, body) == (200, b"")
    response, body = service.ask("/nothing")
    assert response.getheader("Content-Type") == "application/problem+json"
    assert (response.status, json.loads(body)["status"]) == (404, 404)


def test_one_connection_serves_many_probes(service: Service) -> None:
    connection = HTTPConnection(*service.server.address, timeout=10)
    for _ in range(3):
        connection.request("GET", "/healthz/live")
        assert connection.getresponse().read() == b'{"status": "live"}\n'
    connection.close()


def test_a_taken_address_is_one_sentence_that_names_the_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CannotListen, match=rf"127\.0\.0\.1:{port} .*TOCSIN_LISTEN"):
            HealthServer(Address("127.0.0.1", port), Metrics(), VERSION, ready=lambda: None)


def test_after_the_block_nobody_listens() -> None:
    service = Service()
    with service.server:
        port = service.server.address.port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_failing_question_is_logged_and_the_server_goes_on(
    service: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(service, "not_ready")
    response, body = service.ask("/healthz/ready")
    assert (response.status, json.loads(body)["title"]) == (500, "Internal Server Error")
    assert service.ask("/healthz/live")[0].status == 200
    assert [vars(record)["action"] for record in caplog.records] == ["health_request_failed"]
