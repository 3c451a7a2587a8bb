"""Backfills: the slots of a time that has passed, run now."""

from fastapi import APIRouter, Request

from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields, instant, one_of
from tocsin.model.signal_json import is_signal_id
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.bodies import no_fields, read_object
from tocsin_gateway.api.context import Acting, Current, ExistingKey
from tocsin_gateway.api.documents import backfill_document
from tocsin_gateway.api.idempotency import Once, replayed
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, Problem, invalid
from tocsin_gateway.api.words import OVERLAPS
from tocsin_gateway.commands.deeds import Deed
from tocsin_gateway.projection.backfills import Backfill

router = APIRouter(prefix="/v1", tags=["backfills"])


@router.post("/jobs/{job_id}/backfills", status_code=202, openapi_extra=openapi.START_BACKFILL)
async def start_backfill(
    request: Request, context: Current, key: ExistingKey, caller: Acting, once: Once
) -> Json:
    """Run each slot of the schedule in [from, to), also those that ran before."""
    Parameters(request)
    errors: list[FieldError] = []
    fields = Fields(await read_object(request), errors)
    fields.require("from", "to")
    start, end = fields.read("from", 0, instant), fields.read("to", 0, instant)
    overlap = fields.read("overlap", None, one_of(*OVERLAPS))
    fields.finish()
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)
    async with context.audit_trail.about(caller, "backfill", f"job/{key.job_id}") as deed:
        return _told(*await context.backfill_commands.start(key, start, end, overlap, once), deed)


@router.get("/jobs/{job_id}/backfills", openapi_extra=openapi.LIST_BACKFILLS)
def list_backfills(request: Request, context: Current, key: ExistingKey) -> Json:
    """The job's backfills with their progress, newest first, a hundred at the most."""
    Parameters(request)
    found = context.backfills.of_job(key)
    if not found and context.jobs.job(key) is None:
        raise Problem(Kind.NOT_FOUND, f"there is no job {key}")
    return Json({"items": [backfill_document(each) for each in found]})


@router.post(
    "/backfills/{backfill_id}/cancel", status_code=202, openapi_extra=openapi.CANCEL_BACKFILL
)
async def cancel_backfill(
    request: Request, backfill_id: str, context: Current, caller: Acting, once: Once
) -> Json:
    """Run none of the slots that are left; runs that are out go on."""
    await no_fields(request)
    if not is_signal_id(backfill_id):
        raise Problem(Kind.NOT_FOUND, f"there is no backfill {backfill_id[:80]}")
    async with context.audit_trail.about(caller, "cancel", f"backfill/{backfill_id}") as deed:
        return _told(
            *await context.backfill_commands.cancel(caller.tenant, backfill_id, once), deed
        )


def _told(found: Backfill, is_replayed: bool, deed: Deed) -> Json:
    if not is_replayed:
        deed.done()
    return Json(backfill_document(found), 202, replayed(is_replayed))
