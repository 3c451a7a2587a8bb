"""/v1/schema-registry: what Kafka tools ask a Confluent-compatible registry for, to be read only.

https://docs.confluent.io/platform/current/schema-registry/develop/api.html says what the answers
and error codes are. A caller of one tenant finds the topics of its own pools.
"""

import json

from fastapi import APIRouter, Request, Response

from tocsin.model.strict_json import JsonValue
from tocsin.wire.subjects import RegisteredSchema, registered_schemas
from tocsin_gateway.access.identity import Caller
from tocsin_gateway.api.context import Acting, Context, Current, Tenant

router = APIRouter(prefix="/v1/schema-registry", include_in_schema=False)

VIEWER = {"x-role": "viewer"}
MEDIA_TYPE = "application/vnd.schemaregistry.v1+json"

_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA, _BAD_VERSION = 40401, 40402, 40403, 42202


class _Answer(Response):
    """JSON, as registries send it."""

    media_type = MEDIA_TYPE

    def __init__(self, document: JsonValue, status: int = 200) -> None:
        super().__init__(json.dumps(document), status)


class RegistryError(Exception):
    """Ends a request with one of the registry's own error codes."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


async def answer_registry_error(_request: Request, error: Exception) -> Response:
    """The answer that says so."""
    assert isinstance(error, RegistryError)
    return _Answer({"error_code": error.code, "message": str(error)}, error.code // 100)


@router.get("", openapi_extra=VIEWER)
@router.get("/", openapi_extra=VIEWER)
def root(_tenant: Tenant) -> Response:
    """That there is a registry."""
    return _Answer({})


@router.get("/schemas/types", openapi_extra=VIEWER)
def list_types(_tenant: Tenant) -> Response:
    return _Answer(["AVRO"])


@router.get("/schemas", openapi_extra=VIEWER)
def list_schemas(request: Request, context: Current, caller: Acting) -> Response:
    """All versions of all subjects, or of those that begin with `subjectPrefix`."""
    prefix = request.query_params.get("subjectPrefix", "")
    newest_only = request.query_params.get("latestOnly", "").lower() == "true"
    found = [each for each in _schemas(context, caller) if each.subject.startswith(prefix)]
    newest = {each.subject: each for each in found}
    return _Answer([_version(each) for each in (newest.values() if newest_only else found)])


@router.get("/schemas/ids/{schema_id}", openapi_extra=VIEWER)
def get_schema(schema_id: str, context: Current, caller: Acting) -> Response:
    """What a deserialiser asks for."""
    return _Answer({"schema": _by_id(context, caller, schema_id)[0].text})


@router.get("/schemas/ids/{schema_id}/schema", openapi_extra=VIEWER)
def get_schema_text(schema_id: str, context: Current, caller: Acting) -> Response:
    return Response(_by_id(context, caller, schema_id)[0].text, media_type=MEDIA_TYPE)


@router.get("/schemas/ids/{schema_id}/subjects", openapi_extra=VIEWER)
def list_subjects_of_schema(schema_id: str, context: Current, caller: Acting) -> Response:
    return _Answer([each.subject for each in _by_id(context, caller, schema_id)])


@router.get("/schemas/ids/{schema_id}/versions", openapi_extra=VIEWER)
def list_versions_of_schema(schema_id: str, context: Current, caller: Acting) -> Response:
    found = _by_id(context, caller, schema_id)
    return _Answer([{"subject": each.subject, "version": each.version} for each in found])


@router.get("/subjects", openapi_extra=VIEWER)
def list_subjects(request: Request, context: Current, caller: Acting) -> Response:
    prefix = request.query_params.get("subjectPrefix", "")
    subjects = dict.fromkeys(each.subject for each in _schemas(context, caller))
    return _Answer([subject for subject in subjects if subject.startswith(prefix)])


@router.get("/subjects/{subject}/versions", openapi_extra=VIEWER)
def list_versions(subject: str, context: Current, caller: Acting) -> Response:
    return _Answer([each.version for each in _of_subject(context, caller, subject)])


@router.get("/subjects/{subject}/versions/{version}", openapi_extra=VIEWER)
def get_version(subject: str, version: str, context: Current, caller: Acting) -> Response:
    """`version`: a number, or `latest`."""
    return _Answer(_version(_at(context, caller, subject, version)))


@router.get("/subjects/{subject}/versions/{version}/schema", openapi_extra=VIEWER)
def get_version_text(subject: str, version: str, context: Current, caller: Acting) -> Response:
    return Response(_at(context, caller, subject, version).text, media_type=MEDIA_TYPE)


@router.get("/subjects/{subject}/versions/{version}/referencedby", openapi_extra=VIEWER)
def list_references(subject: str, version: str, context: Current, caller: Acting) -> Response:
    """None: every schema is whole."""
    _at(context, caller, subject, version)
    return _Answer([])


@router.get("/config", openapi_extra=VIEWER)
@router.get("/config/{_subject}", openapi_extra=VIEWER)
def get_config(_tenant: Tenant, _subject: str = "") -> Response:
    """A schema that was released never changes."""
    return _Answer({"compatibilityLevel": "NONE"})


@router.get("/mode", openapi_extra=VIEWER)
@router.get("/mode/{_subject}", openapi_extra=VIEWER)
def get_mode(_tenant: Tenant, _subject: str = "") -> Response:
    return _Answer({"mode": "READONLY"})


def _schemas(context: Context, caller: Caller) -> tuple[RegisteredSchema, ...]:
    return registered_schemas(context.topics, context.jobs.pools(caller.identity.tenant))


def _by_id(context: Context, caller: Caller, schema_id: str) -> list[RegisteredSchema]:
    found = [each for each in _schemas(context, caller) if str(each.schema_id) == schema_id]
    if not found:
        raise RegistryError(_NO_SCHEMA, f"Schema {schema_id[:40]} not found")
    return found


def _of_subject(context: Context, caller: Caller, subject: str) -> list[RegisteredSchema]:
    found = [each for each in _schemas(context, caller) if each.subject == subject]
    if not found:
        raise RegistryError(_NO_SUBJECT, f"Subject '{subject[:200]}' not found.")
    return found


def _at(context: Context, caller: Caller, subject: str, version: str) -> RegisteredSchema:
    found = _of_subject(context, caller, subject)
    if version in ("latest", "-1"):
        return found[-1]
    if not version.isdecimal():
        raise RegistryError(_BAD_VERSION, "The specified version is not a valid version id")
    for each in found:
        if str(each.version) == version:
            return each
    raise RegistryError(_NO_VERSION, f"Version {version[:20]} not found.")


def _version(schema: RegisteredSchema) -> JsonValue:
    return {
        "subject": schema.subject,
        "version": schema.version,
        "id": schema.schema_id,
        "schemaType": "AVRO",
        "schema": schema.text,
    }
