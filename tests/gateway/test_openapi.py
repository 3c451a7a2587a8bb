"""The OpenAPI document says what the API does, and its page needs nothing from elsewhere."""

import re
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute

from tocsin_gateway.api.app import MODULES


@pytest.fixture
def document(http: httpx.Client) -> dict[str, Any]:
    read: dict[str, Any] = http.get("/openapi.json").json()
    return read


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def references(value: object) -> list[str]:
    """All that is referred to below a value."""
    if isinstance(value, list):
        return [found for item in value for found in references(item)]
    if isinstance(value, dict):
        own = [value["$ref"]] if "$ref" in value else []
        return own + [found for item in value.values() for found in references(item)]
    return []


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    for reference in references(document):
        at: Any = document
        for name in reference.removeprefix("#/").split("/"):
            at = at[name]


def test_every_operation_has_a_name_an_explanation_and_its_problems(
    document: dict[str, Any],
) -> None:
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(names) == len(set(names))
    for path, method, operation in operations(document):
        assert operation["description"], (path, method)
        assert {"400", "401", "503"} <= operation["responses"].keys()
        assert "422" in operation["responses"]
        if "{" in path:
            assert "404" in operation["responses"] or method == "put"


def test_b137_conditional_writes_list_412(document: dict[str, Any]) -> None:
    for method in ("put", "patch", "delete"):
        assert "412" in document["paths"]["/v1/jobs/{job_id}"][method]["responses"]


def test_every_route_is_described(document: dict[str, Any]) -> None:
    routes = {
        (route.path, method.lower())
        for module in MODULES
        if module.router.include_in_schema
        for route in module.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    }

    assert routes == {(path, method) for path, method, _ in operations(document)}


def test_every_path_parameter_is_declared(document: dict[str, Any]) -> None:
    for path, _, operation in operations(document):
        declared = {
            document["components"]["parameters"][ref["$ref"].rpartition("/")[2]]["name"]
            for ref in operation["parameters"]
        }
        assert set(re.findall(r"{(\w+)}", path)) <= declared


def test_the_page_loads_nothing_from_elsewhere(http: httpx.Client) -> None:
    page = http.get("/docs")

    assert page.headers["Content-Type"].startswith("text/html")
    assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", page.text)
    assert "/openapi.json" in page.text


def test_a_job_as_answered_fits_its_schema(http: httpx.Client, document: dict[str, Any]) -> None:
    http.put("/v1/jobs/a", json={"schedule": {"every": 5}, "handler": {"type": "noop"}})
    job = http.get("/v1/jobs/a").json()
    run = http.post("/v1/jobs/a/trigger").json()
    schemas = document["components"]["schemas"]

    assert job.keys() <= schemas["Job"]["properties"].keys()
    assert job["info"].keys() == schemas["JobInfo"]["properties"].keys()
    assert run.keys() == schemas["Run"]["properties"].keys()


def test_what_changes_something_needs_more_than_a_viewer(document: dict[str, Any]) -> None:
    harmless = {
        operation["operationId"]
        for _, _, operation in operations(document)
        if operation["x-role"] == "viewer"
    }
    writing = {
        operation["operationId"]
        for _, method, operation in operations(document)
        if method != "get" and "preview" not in operation["operationId"]
    }

    assert not harmless & writing
