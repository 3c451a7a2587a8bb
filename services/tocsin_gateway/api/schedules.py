"""Previews: when a schedule would fire."""

from fastapi import APIRouter, Request

from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields, instant, whole
from tocsin.model.schedule_json import read_schedule
from tocsin.timetable import Schedule, ScheduleFields, describe, preview, schedule_of
from tocsin.timetable.instants import to_datetime
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.bodies import read_object
from tocsin_gateway.api.context import Current, ExistingKey, Tenant
from tocsin_gateway.api.documents import NEXT, preview_document
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, Problem, invalid

router = APIRouter(prefix="/v1", tags=["schedules"])

MOST = 1_000
_NEVER = ScheduleFields(cron="0 0 1 1 *")


@router.get("/jobs/{job_id}/preview", openapi_extra=openapi.PREVIEW_JOB)
def preview_job(request: Request, context: Current, key: ExistingKey) -> Json:
    """The next n scheduled times of a job, as if it were not paused."""
    n = Parameters(request, "n").number("n", NEXT, MOST)
    stored = context.jobs.job(key)
    if stored is None:
        raise Problem(Kind.NOT_FOUND, f"there is no job {key}")
    return _preview(schedule_of(stored.job.schedule), context.clock.now_ms(), n)


@router.post("/schedules:preview", openapi_extra=openapi.PREVIEW_SCHEDULE)
async def preview_schedule(request: Request, context: Current, _tenant: Tenant) -> Json:
    """What a schedule means, and its next n occurrences after a time (default: now)."""
    Parameters(request)
    errors: list[FieldError] = []
    fields = Fields(await read_object(request), errors)
    fields.require("schedule")
    schedule = schedule_of(read_schedule(fields, _NEVER))
    n = fields.read("n", NEXT, whole)
    now = context.clock.now_ms()
    after = fields.read("after", now, instant)
    fields.finish()
    if not 1 <= n <= MOST:
        message = f"must lie between 1 and {MOST:,}"
        errors.append(FieldError(pointer="/n", keyword="range", message=message))
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)
    if schedule.fields.every_ms is not None and schedule.fields.start is None:
        schedule = schedule.with_start(now + schedule.fields.every_ms)
    return _preview(schedule, after, n)


def _preview(schedule: Schedule, after: int, n: int) -> Json:
    occurrences = preview(schedule, to_datetime(after), n)
    return Json(preview_document(describe(schedule), occurrences))
