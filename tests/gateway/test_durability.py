"""Nothing is said to be stored that is not, and nothing acknowledged is lost."""

from pathlib import Path

import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.broker.errors import BrokerUnreachable

HASTY = msgspec.structs.replace(PATIENT, durable_timeout=0.05, fold_timeout=0.05)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/v1/jobs/b"),
        ("PATCH", "/v1/jobs/a"),
        ("DELETE", "/v1/jobs/a"),
        ("POST", "/v1/jobs/a/pause"),
        ("POST", "/v1/jobs/a/trigger"),
    ],
)
def test_b154_without_an_acknowledgement_nothing_is_promised(
    tmp_path: Path, method: str, path: str
) -> None:
    with Harness(tmp_path, HASTY) as harness:
        harness.http.put("/v1/jobs/a", json=job())
        harness.kafka_acknowledges = False
        body = job() if method == "PUT" else {}
        answer = harness.http.request(method, path, json=body)

        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/not-durable")
        assert int(answer.headers["Retry-After"]) >= 1
        harness.kafka_acknowledges = True
        assert harness.http.get("/v1/jobs/a").is_success or method == "DELETE"


def test_what_is_in_the_log_but_not_judged_is_not_confirmed(tmp_path: Path) -> None:
    with Harness(tmp_path, HASTY) as harness:
        harness.projector_runs = False
        answer = harness.http.put("/v1/jobs/a", json=job())
        harness.projector_runs = True
        harness.settle()

        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unconfirmed")
        assert harness.http.get("/v1/jobs/a").status_code == 200


def test_a_gateway_that_has_not_read_the_jobs_says_so(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.projector_runs = False
    asked = harness.http.get("/v1/jobs/a")
    ready = harness.http.get("/healthz/ready")
    live = harness.http.get("/healthz/live")
    with harness:
        pass

    assert (asked.status_code, asked.json()["type"]) == (503, "/problems/not-ready")
    assert (ready.status_code, live.status_code) == (503, 200)


def test_readiness_tells_what_is_wrong_and_recovers(harness: Harness) -> None:
    harness.projector_runs = False
    harness.projector.failed(BrokerUnreachable("no answer"))
    broken = harness.http.get("/healthz/ready")
    harness.projector.open()
    harness.projector_runs = True
    harness.settle()

    assert broken.status_code == 503
    assert "no answer" in broken.json()["reason"]
    assert harness.http.get("/healthz/ready").status_code == 200
