"""Commands about runs: cancel, redrive, complete."""

from fastapi import APIRouter, Request

from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields, json_bytes, truth, whole
from tocsin.model.run_json import read_error
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.bodies import no_fields, read_object
from tocsin_gateway.api.context import Acting, Current, ExistingRun
from tocsin_gateway.api.documents import run_document
from tocsin_gateway.api.idempotency import Once, replayed
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, invalid
from tocsin_gateway.commands.deeds import Deed
from tocsin_gateway.commands.run_commands import Completion, Told

router = APIRouter(prefix="/v1/runs/{run_id}", tags=["runs"])


@router.post("/cancel", status_code=202, openapi_extra=openapi.CANCEL_RUN)
async def cancel_run(
    request: Request, run_id: ExistingRun, context: Current, caller: Acting, once: Once
) -> Json:
    """Stop a run: at once where nobody executes it, else as soon as its worker obeys."""
    await no_fields(request)
    async with context.audit_trail.about(caller, "cancel", f"run/{run_id}") as deed:
        return _told(await context.run_commands.cancel(run_id, caller.tenant, once), deed, 202)


@router.post("/redrive", status_code=202, openapi_extra=openapi.REDRIVE_RUN)
async def redrive_run(
    request: Request, run_id: ExistingRun, context: Current, caller: Acting, once: Once
) -> Json:
    """Run a dead run again: the same run, under the job's present definition, with as many
    attempts as that allows."""
    await no_fields(request)
    async with context.audit_trail.about(caller, "redrive", f"run/{run_id}") as deed:
        return _told(await context.run_commands.redrive(run_id, caller.tenant, once), deed, 202)


@router.post("/complete", openapi_extra=openapi.COMPLETE_RUN)
async def complete_run(
    request: Request, run_id: ExistingRun, context: Current, caller: Acting, once: Once
) -> Json:
    """Say how a run ended that its handler has left open (`Tocsin-Completion: later`)."""
    Parameters(request)
    errors: list[FieldError] = []
    fields = Fields(await read_object(request), errors)
    fields.require("succeeded")
    error = fields.optional_section("error")
    completion = Completion(
        succeeded=fields.read("succeeded", True, truth),
        attempt=fields.read("attempt", None, whole),
        result=fields.read("result", None, json_bytes),
        error=None if error is None else read_error(error),
    )
    fields.finish()
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)
    async with context.audit_trail.about(caller, "complete", f"run/{run_id}") as deed:
        return _told(
            await context.run_commands.complete(run_id, caller.tenant, completion, once), deed, 200
        )


def _told(told: Told, deed: Deed, status: int) -> Json:
    if not told.replayed:
        deed.done()
    return Json(run_document(told.row), status, replayed(told.replayed))
