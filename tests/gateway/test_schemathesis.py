"""Whatever the OpenAPI document allows or forbids is answered as it says, and never by a defect.

Requests are made of the document: such as it allows, such as it does not, and sequences along its
links. 503 is no answer here: Kafka and the read model are at hand.
"""

import itertools
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias, cast

import httpx
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import APIOperation, Case, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.generation.stateful.state_machine import APIStateMachine
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.gateway.harness import PATIENT, Harness
from tocsin.metrics import Metrics
from tocsin_gateway.api.app import build_app
from tocsin_gateway.api.context import Context

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
STREAM = "#/components/responses/EventStream"
BASE = "http://localhost:8080"
TOKEN = {"Authorization": "Bearer s3cret"}
HASTY = msgspec.structs.replace(PATIENT, run_timeout=0.02, token="s3cret")
PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
CHECKED = list(HealthCheck)

AnyCase: TypeAlias = "Case[Any]"

MAKING = {"POST /v1/jobs", "PUT /v1/jobs/{job_id}"}
PLAIN = {"overlap", "priority", "max_runs", "catch_up", "status", "payload"}

DOCUMENT = build_app(cast(Context, None), Metrics(), "0").openapi()
EXAMPLE = DOCUMENT["components"]["schemas"]["Job"]["example"]


def endless() -> list[str]:
    """The operations that answer with a stream: there is no end of it to wait for."""
    operations = (o for path in DOCUMENT["paths"].values() for o in path.values())
    return [o["operationId"] for o in operations if STREAM in str(o["responses"])]


SCHEMA = schemathesis.openapi.from_dict(DOCUMENT).exclude(operation_id=endless())
OPERATIONS: dict[str, APIOperation[Any, Any, Any, Any]] = {
    operation.label: operation
    for operation in (found.ok() for found in SCHEMA.get_all_operations())  # type: ignore[union-attr]
}


def ask(harness: Harness, case: AnyCase) -> Response:
    """What the gateway answers."""
    made = case.as_transport_kwargs(base_url=BASE)
    known = {"method", "url", "headers", "params", "json", "data", "cookies"}
    content, sent = made.get("data"), made["headers"].items()
    request = httpx.Request(
        made["method"],
        made["url"],
        headers=[(name.encode(), value.encode("latin-1")) for name, value in sent],
        params=made.get("params") or None,
        json=made.get("json"),
        content=content if isinstance(content, str | bytes) else None,
    )
    assert made.keys() <= known, made.keys()
    answer = harness.send(request)
    answer.request, answer.elapsed = request, timedelta(0)
    return Response.from_httpx(answer, verify=True)


def sensible(case: AnyCase) -> AnyCase:
    """The same request of one tenant and without conditions, about a job that can be: no schema
    says what a cron expression is, and a sequence ends where no job is made."""
    given = (case.headers or {}).items()
    kept = {name: value for name, value in given if name.lower() == "idempotency-key"}
    case.headers = {**kept, **TOKEN}  # type: ignore[assignment]
    if case.operation.label in MAKING and isinstance(case.body, dict):
        plain = {name: case.body[name] for name in PLAIN & case.body.keys()}
        case.body = {**EXAMPLE, **plain}
        case.query = {}
    return case


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("label", OPERATIONS)
def test_each_operation_answers_as_it_says(
    harness: Harness, label: str, mode: GenerationMode
) -> None:
    operation = OPERATIONS[label]

    @settings(max_examples=4, phases=PHASES, suppress_health_check=CHECKED)
    @given(case=operation.as_strategy(mode))
    def answers(case: AnyCase) -> None:
        case.validate_response(ask(harness, case), checks=CHECKS)

    answers()


def test_sequences_along_the_links_answer_as_they_say() -> None:
    numbers = itertools.count()
    seen: set[tuple[str, int]] = set()
    with TemporaryDirectory() as folder:

        class Machine(SCHEMA.as_state_machine()):  # type: ignore[misc]
            def setup(self) -> None:
                place = Path(folder) / str(next(numbers))
                place.mkdir()
                self.harness = Harness(place, HASTY).__enter__()

            def teardown(self) -> None:
                self.harness.__exit__(None, None, None)

            def call(self, case: AnyCase, **_: Any) -> Response:
                answer = ask(self.harness, sensible(case))
                seen.add((case.operation.label, answer.status_code))
                return answer

            def validate_response(self, response: Response, case: AnyCase, **_: Any) -> None:
                case.validate_response(response, checks=CHECKS)

        machine: type[APIStateMachine] = Machine
        machine.run(
            settings=settings(
                max_examples=12,
                stateful_step_count=15,
                derandomize=True,
                phases=PHASES,
                suppress_health_check=CHECKED,
            )
        )

    followed = {label for label, status in seen if status < 300 and "{job_id}" in label}
    assert len(followed) >= 4, "the sequences have come to nothing"
