"""/v1/jobs: definitions, and commands about them."""

from collections.abc import Awaitable, Callable
from uuid import UUID, uuid5

from fastapi import APIRouter, Request, Response

from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields, json_bytes, one_of, text
from tocsin.model.job_json import parse_job, render_job
from tocsin.model.jobs import Job
from tocsin.model.keys import InvalidKey, JobKey, job_key
from tocsin.model.limits import MAX_DESCRIPTION, text_errors
from tocsin.model.strict_json import JsonObject, JsonValue
from tocsin.wire.headers import Idempotency
from tocsin_gateway.access.identity import Caller
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json, with_etag
from tocsin_gateway.api.bodies import (
    JSON,
    MERGE_PATCH,
    no_fields,
    read_object,
    read_optional_object,
)
from tocsin_gateway.api.conditions import etag, is_known, read_precondition
from tocsin_gateway.api.context import (
    Acting,
    Context,
    Current,
    ExistingKey,
    Tenant,
    acting,
    context_of,
    existing_key,
)
from tocsin_gateway.api.documents import (
    accepted_document,
    job_document,
    job_page,
    run_document,
)
from tocsin_gateway.api.idempotency import Once, read_idempotency, replayed
from tocsin_gateway.api.parameters import Parameters, wrong_cursor
from tocsin_gateway.api.problems import Kind, Problem, invalid
from tocsin_gateway.api.routing import DirectRoute
from tocsin_gateway.api.uuids import uuid7
from tocsin_gateway.api.words import OVERLAPS, PHASES, SORTS
from tocsin_gateway.commands.job_commands import Accepted
from tocsin_gateway.projection.cursors import InvalidCursor
from tocsin_gateway.projection.job_reads import JobFilter

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=DirectRoute)

UNCHECKED = "Tocsin-Handler-Unchecked"
"""A header of answers: the type of a handler whose configuration nobody here can judge."""

_NEW_JOBS = UUID("1e2f8c54-93cf-5b3a-8f0b-2f1f8f6c7a30")
"""The namespace of job ids made of an idempotency key; the same in all gateways."""


@router.get("", openapi_extra=openapi.LIST_JOBS)
def list_jobs(request: Request, context: Current, tenant: Tenant) -> Json:
    """The tenant's jobs, one page."""
    query = Parameters(request, "tag", "status", "owner", "q", "sort", "cursor", "limit")
    wanted = JobFilter(
        tenant=tenant,
        tags=query.tags(),
        status=query.one_of("status", PHASES),
        owner=query.text("owner"),
        text=query.text("q"),
    )
    sort = query.one_of("sort", SORTS) or "job_id"
    try:
        page = context.jobs.page(wanted, sort, query.text("cursor"), query.limit())
    except InvalidCursor as error:
        raise wrong_cursor(error) from None
    is_complete = context.progress.history_complete
    return Json(job_page(page, context.clock.now_ms(), history_complete=is_complete))


@router.post("", status_code=201, openapi_extra=openapi.CREATE_JOB)
async def create_job(
    request: Request, context: Current, tenant: Tenant, caller: Acting, once: Once
) -> Json:
    """Create a job that must not exist yet; without job_id it gets one."""
    dry_run = Parameters(request, "dry_run").truth("dry_run")
    document = await read_object(request)
    name = document.get("job_id", str(_new_id(context, tenant, once)))
    job = parse_job(document, _key_for(tenant, name), context.handler_checks.errors)

    async def command() -> Accepted:
        return await context.job_commands.create(job, dry_run=dry_run, request=once)

    accepted = await _do(context, caller, "create", job.key, command, is_dry=dry_run)
    return await _accepted(context, accepted, status=201)


@router.get("/{job_id}", openapi_extra=openapi.GET_JOB)
async def get_job(request: Request) -> Response:
    """One job."""
    context = context_of(request)
    key = await existing_key(request, request.path_params["job_id"])
    Parameters(request)
    stored = await context.lookups.stored.get(key)
    if stored is None:
        raise Problem(Kind.NOT_FOUND, f"there is no job {key}")
    revision = stored.held.revision
    if is_known(request, revision):
        return Response(status_code=304, headers={"ETag": etag(revision)})
    is_complete = context.progress.history_complete
    document = job_document(stored, context.clock.now_ms(), history_complete=is_complete)
    return with_etag(document, revision)


@router.put("/{job_id}", openapi_extra=openapi.PUT_JOB)
async def put_job(request: Request) -> Json:
    """Create the job or replace it."""
    context, caller = context_of(request), await acting(request)
    once = await read_idempotency(request)
    dry_run = Parameters(request, "dry_run").truth("dry_run")
    precondition = read_precondition(request)
    document = await read_object(request)
    key = _key_for(caller.tenant, request.path_params["job_id"])
    job = parse_job(document, key, context.handler_checks.errors)

    async def command() -> Accepted:
        return await context.job_commands.put(job, precondition, dry_run=dry_run, request=once)

    accepted = await _do(context, caller, "put", key, command, is_dry=dry_run)
    return await _accepted(context, accepted, status=201 if accepted.created else 200)


@router.patch("/{job_id}", openapi_extra=openapi.PATCH_JOB)
async def patch_job(
    request: Request, context: Current, key: ExistingKey, caller: Acting, once: Once
) -> Json:
    """Change some fields of a job (RFC 7396)."""
    dry_run = Parameters(request, "dry_run").truth("dry_run")
    precondition = read_precondition(request)
    patch = await read_object(request, MERGE_PATCH, JSON)

    def patched(job: Job) -> Job:
        document = merge_patch(render_job(job), patch)
        return parse_job(document, key, context.handler_checks.errors)

    async def command() -> Accepted:
        return await context.job_commands.change(
            key, patched, precondition, dry_run=dry_run, request=once
        )

    accepted = await _do(context, caller, "patch", key, command, is_dry=dry_run)
    return await _accepted(context, accepted)


@router.delete("/{job_id}", status_code=204, openapi_extra=openapi.DELETE_JOB)
async def delete_job(
    request: Request, context: Current, key: ExistingKey, caller: Acting, once: Once
) -> Response:
    """Delete a job; started runs end by themselves."""
    Parameters(request)
    precondition = read_precondition(request)
    async with context.audit_trail.about(caller, "delete", _object(key)) as deed:
        deleted = await context.job_commands.delete(key, precondition, request=once)
        if not deleted.replayed:
            deed.done(before=deleted.revision)
    return Response(status_code=204, headers=replayed(deleted.replayed))


@router.post("/{job_id}/pause", openapi_extra=openapi.PAUSE_JOB)
async def pause_job(
    request: Request, context: Current, key: ExistingKey, caller: Acting, once: Once
) -> Json:
    """No occurrence runs until the job is resumed; what runs goes on."""
    errors: list[FieldError] = []
    fields = Fields(await read_optional_object(request), errors)
    note = fields.read("note", None, text)
    fields.finish()
    errors += text_errors("/note", note or "", MAX_DESCRIPTION)
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)

    async def command() -> Accepted:
        return await context.job_commands.pause(key, note, request=once)

    return await _accepted(context, await _do(context, caller, "pause", key, command))


@router.post("/{job_id}/resume", openapi_extra=openapi.RESUME_JOB)
async def resume_job(
    request: Request, context: Current, key: ExistingKey, caller: Acting, once: Once
) -> Json:
    """Go on with the next occurrence."""
    await no_fields(request)

    async def command() -> Accepted:
        return await context.job_commands.resume(key, request=once)

    return await _accepted(context, await _do(context, caller, "resume", key, command))


@router.post("/{job_id}/trigger", status_code=202, openapi_extra=openapi.TRIGGER_JOB)
async def trigger_job(
    request: Request, context: Current, key: ExistingKey, caller: Acting, once: Once
) -> Json:
    """Run the job now, also while it is paused."""
    errors: list[FieldError] = []
    document = await read_optional_object(request)
    fields = Fields(document, errors)
    overlap = fields.read("overlap", None, one_of(*OVERLAPS))
    payload = json_bytes(document["payload"]) if "payload" in document else None
    fields.skip("payload")
    fields.finish()
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)
    async with context.audit_trail.about(caller, "trigger", _object(key)) as deed:
        told = await context.run_commands.trigger(key, payload, overlap, once)
        if not told.replayed:
            deed.done()
    headers = {"Location": f"/v1/runs/{told.row.run_id}", **replayed(told.replayed)}
    return Json(run_document(told.row), 202, headers)


def merge_patch(target: JsonValue, patch: JsonValue) -> JsonValue:
    """RFC 7396 §2. The target is not changed."""
    if not isinstance(patch, dict):
        return patch
    merged: JsonObject = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def _key_for(tenant: str, job_id: JsonValue) -> JobKey:
    """The key of a job to be written; a wrong one is a wrong field."""
    try:
        return job_key(tenant, job_id if isinstance(job_id, str) else "")
    except InvalidKey as error:
        wrong = FieldError(pointer="/job_id", keyword="pattern", message=str(error))
        raise invalid(Kind.INVALID_JOB, [wrong]) from None


def _new_id(context: Context, tenant: str, once: Idempotency | None) -> UUID:
    """In the order of time; with a key one that every gateway makes of it."""
    if once is None:
        return uuid7(context.clock.now_ms())
    return uuid5(_NEW_JOBS, f"{tenant} {once.key}")


def _object(key: JobKey) -> str:
    """A job as the audit log names it."""
    return f"job/{key.job_id}"


async def _do(
    context: Context,
    caller: Caller,
    action: str,
    key: JobKey,
    command: Callable[[], Awaitable[Accepted]],
    *,
    is_dry: bool = False,
) -> Accepted:
    """Carry out a command about a definition, on record."""
    if is_dry:
        return await command()
    async with context.audit_trail.about(caller, action, _object(key)) as deed:
        accepted = await command()
        if not accepted.replayed and accepted.held.revision != accepted.before:
            deed.done(accepted.before, accepted.held.revision)
    return accepted


async def _accepted(context: Context, accepted: Accepted, *, status: int = 200) -> Json:
    """The job as it is now; where it has changed already, as it was accepted."""
    now = context.clock.now_ms()
    stored = accepted.stored or await context.lookups.stored.get(accepted.job.key)
    if stored is None or stored.held != accepted.held:
        document = accepted_document(accepted.held, accepted.job, now)
    else:
        document = job_document(stored, now)
    location = f"/v1/jobs/{accepted.job.job_id}" if status == 201 else None
    headers = {**replayed(accepted.replayed), **_unchecked(context, accepted.job)}
    return with_etag(document, accepted.held.revision, status, location, headers)


def _unchecked(context: Context, job: Job) -> dict[str, str]:
    if context.handler_checks.covers(job.handler):
        return {}
    return {UNCHECKED: job.handler.type}
