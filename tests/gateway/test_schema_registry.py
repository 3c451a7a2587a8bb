"""The registry answers what Kafka's tools ask, and their deserialiser reads our records."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import msgspec
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tests.gateway.serving import serving
from tests.wire.golden_values import GOLDEN
from tocsin.wire.codec import CODECS, Codec, schema_ids
from tocsin.wire.subjects import registered_schemas
from tocsin.wire.topics import Topics

ROOT = "/v1/schema-registry"


@pytest.fixture
def registry(harness: Harness) -> Iterator[SchemaRegistryClient]:
    with (
        serving(harness.gateway.app) as url,
        SchemaRegistryClient({"url": url + ROOT}) as client,
    ):
        yield client


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_confluents_deserialiser_reads_every_kind_of_record(
    registry: SchemaRegistryClient, codec: Codec[Any]
) -> None:
    deserialise = AvroDeserializer(registry)
    context = SerializationContext("tocsin.any", MessageField.VALUE)
    for value in GOLDEN[codec.name]:
        fields = msgspec.to_builtins(value, builtin_types=(bytes,))

        assert deserialise(codec.encode(value), context) == fields


def test_the_client_finds_subjects_and_versions(registry: SchemaRegistryClient) -> None:
    newest = registry.get_latest_version("tocsin.jobs-value")

    assert "tocsin.runs.high-value" in registry.get_subjects()
    assert registry.get_versions("tocsin.state-value") == [1, 2, 3]
    assert (newest.schema_id, newest.version) == (schema_ids()["job"], 1)
    assert json.loads(newest.schema.schema_str or "")["name"] == "Job"


def test_every_schema_is_under_its_id(http: httpx.Client) -> None:
    for schema_id in schema_ids().values():
        of_id = http.get(f"{ROOT}/schemas/ids/{schema_id}")
        (first, *_) = http.get(f"{ROOT}/schemas/ids/{schema_id}/versions").json()
        path = f"{ROOT}/subjects/{first['subject']}/versions/{first['version']}"

        assert http.get(path).json()["schema"] == of_id.json()["schema"]
        assert http.get(f"{path}/schema").text == of_id.json()["schema"]
        assert of_id.headers["Content-Type"] == "application/vnd.schemaregistry.v1+json"


def test_a_pools_topics_are_subjects_too(http: httpx.Client) -> None:
    http.put("/v1/jobs/a", json=job(pool="gpu"))
    listed = http.get(f"{ROOT}/subjects", params={"subjectPrefix": "tocsin.runs.gpu"}).json()

    assert listed == [f"tocsin.runs.gpu.{priority}-value" for priority in ("high", "low", "normal")]


def test_lists_can_be_narrowed(http: httpx.Client) -> None:
    state = {"subjectPrefix": "tocsin.state"}
    newest = http.get(f"{ROOT}/schemas", params={**state, "latestOnly": "true"}).json()

    assert len(http.get(f"{ROOT}/schemas", params=state).json()) == 3
    assert [each["version"] for each in newest] == [3]
    assert http.get(f"{ROOT}/schemas/types").json() == ["AVRO"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/schemas/ids/1", 40403),
        ("/schemas/ids/none", 40403),
        ("/subjects/nobody-value/versions", 40401),
        ("/subjects/nobody-value/versions/1", 40401),
        ("/subjects/tocsin.jobs-value/versions/9", 40402),
        ("/subjects/tocsin.jobs-value/versions/old", 42202),
    ],
)
def test_what_is_not_there_has_the_registrys_own_code(
    http: httpx.Client, path: str, code: int
) -> None:
    answer = http.get(ROOT + path)

    assert (answer.status_code, answer.json()["error_code"]) == (code // 100, code)


def test_it_is_read_only(http: httpx.Client) -> None:
    assert http.get(f"{ROOT}/mode").json() == {"mode": "READONLY"}
    assert http.post(f"{ROOT}/subjects/x/versions", json={"schema": "{}"}).status_code == 405


def test_no_subject_has_a_version_twice() -> None:
    found = registered_schemas(Topics("acme"), ["default", "gpu"])

    assert len({(each.subject, each.version) for each in found}) == len(found) == 18
    assert all(each.subject.startswith("acme.") for each in found)
