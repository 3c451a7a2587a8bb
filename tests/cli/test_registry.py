"""Pushing schemas into a registry that behaves as Confluent's does."""

import json
import re
from typing import Any

import httpx
import pytest

from tocsin.wire.subjects import registered_schemas
from tocsin.wire.topics import Topics
from tocsin_cli.failures import CommandFailed
from tocsin_cli.registry import Registry

SCHEMAS = registered_schemas(Topics())


class FakeRegistry:
    """Takes an id in the mode IMPORT only, and no id for two schemas."""

    def __init__(self) -> None:
        self.modes: dict[str, str] = {}
        self.versions: dict[tuple[str, int], tuple[int, str]] = {}
        self.texts: dict[int, str] = {}

    def answer(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else {}
        if mode := re.fullmatch(r"/mode/([^/]+)", request.url.path):
            self.modes[mode[1]] = body["mode"]
            return httpx.Response(200, json=body)
        path = re.fullmatch(r"/subjects/([^/]+)/versions(?:/(\d+))?", request.url.path)
        assert path is not None, request.url
        if request.method == "GET":
            return self._version(path[1], int(path[2]))
        return self._register(path[1], body)

    def _version(self, subject: str, version: int) -> httpx.Response:
        found = self.versions.get((subject, version))
        if found is None:
            return httpx.Response(404, json={"error_code": 40401, "message": "not found"})
        return httpx.Response(200, json={"subject": subject, "id": found[0], "schema": found[1]})

    def _register(self, subject: str, body: dict[str, Any]) -> httpx.Response:
        if self.modes.get(subject) != "IMPORT":
            return httpx.Response(422, json={"error_code": 42205, "message": "not in import mode"})
        if self.texts.setdefault(body["id"], body["schema"]) != body["schema"]:
            return httpx.Response(422, json={"error_code": 42207, "message": "overwrites an id"})
        self.versions[subject, body["version"]] = body["id"], body["schema"]
        return httpx.Response(200, json={"id": body["id"]})


def push(fake: FakeRegistry) -> list[str]:
    registry = Registry("http://user:secret@registry:8081/", httpx.MockTransport(fake.answer))
    try:
        return [registry.push(schema).result for schema in SCHEMAS]
    finally:
        registry.close()


def test_all_versions_get_their_ids_and_subjects_can_be_written_again() -> None:
    fake = FakeRegistry()

    assert set(push(fake)) == {"registered"}
    assert fake.versions == {
        (each.subject, each.version): (each.schema_id, each.text) for each in SCHEMAS
    }
    assert set(fake.modes.values()) == {"READWRITE"}


def test_a_second_push_changes_nothing() -> None:
    fake = FakeRegistry()
    push(fake)
    fake.modes.clear()

    assert set(push(fake)) == {"there already"}
    assert fake.modes == {}


def test_another_schema_under_an_id_is_a_conflict_and_leaves_no_mode_behind() -> None:
    fake = FakeRegistry()
    fake.texts[SCHEMAS[0].schema_id] = '"string"'
    with pytest.raises(CommandFailed, match="overwrites an id") as caught:
        push(fake)

    assert caught.value.exit_code == 4
    assert "secret" not in str(caught.value)
    assert set(fake.modes.values()) == {"READWRITE"}


def test_a_version_of_somebody_else_is_a_conflict() -> None:
    fake = FakeRegistry()
    fake.versions[SCHEMAS[0].subject, 1] = (1, '"string"')
    with pytest.raises(CommandFailed, match="somebody else") as caught:
        push(fake)

    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("answer", "exit_code"),
    [
        (httpx.Response(401, text="who are you"), 1),
        (httpx.Response(200, text="<html>"), 1),
        (httpx.ConnectError("refused"), 3),
    ],
)
def test_what_is_no_registry_is_told(
    answer: httpx.Response | httpx.ConnectError, exit_code: int
) -> None:
    def say(_request: httpx.Request) -> httpx.Response:
        if isinstance(answer, httpx.ConnectError):
            raise answer
        return answer

    registry = Registry("http://me:hunter2@registry:8081", httpx.MockTransport(say))
    with pytest.raises(CommandFailed) as caught:
        registry.push(SCHEMAS[0])
    registry.close()

    assert caught.value.exit_code == exit_code
    assert "http://registry:8081" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["registry", "ftp://registry", "http://", "http://registry:x"])
def test_what_is_no_address_is_told(url: str) -> None:
    with pytest.raises(CommandFailed) as caught:
        Registry(url)

    assert caught.value.exit_code == 2
