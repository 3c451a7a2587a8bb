"""One command for all jobs or runs that a filter matches."""

from collections.abc import Awaitable
from typing import get_args

from fastapi import APIRouter, Request

from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields, WrongValue, instant, one_of, text, whole
from tocsin.model.strict_json import JsonObject, JsonValue
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.bodies import read_object
from tocsin_gateway.api.context import Acting, Current
from tocsin_gateway.api.parameters import Parameters, tag_of
from tocsin_gateway.api.problems import Kind, Problem, invalid
from tocsin_gateway.api.words import PHASES, STATUSES
from tocsin_gateway.commands.bulk_commands import MOST, Bulk, RunAction, Slice
from tocsin_gateway.commands.job_batches import JobAction
from tocsin_gateway.projection.cursors import InvalidCursor
from tocsin_gateway.projection.job_reads import JobFilter
from tocsin_gateway.projection.run_reads import RunFilter

router = APIRouter(prefix="/v1")

_JOB_ACTIONS: tuple[JobAction, ...] = get_args(JobAction)
_RUN_ACTIONS: tuple[RunAction, ...] = get_args(RunAction)


@router.post("/jobs:bulk", tags=["jobs"], openapi_extra=openapi.BULK_JOBS)
async def bulk_jobs(request: Request, context: Current, caller: Acting) -> Json:
    """Pause, resume or delete all jobs that match. Without `expect` they are only counted."""
    Parameters(request)
    errors: list[FieldError] = []
    fields = Fields(await read_object(request), errors)
    fields.require("action", "filter")
    action = fields.read("action", _JOB_ACTIONS[0], one_of(*_JOB_ACTIONS))
    asked = fields.section("filter")
    wanted = JobFilter(
        tenant=caller.tenant,
        tags=tuple(map(tag_of, asked.read("tag", (), _texts))),
        status=asked.read("status", None, one_of(*PHASES)),
        owner=asked.read("owner", None, text),
        text=asked.read("q", None, text),
    )
    part = _finish(fields, asked, errors)
    if action == "delete" and not caller.identity.may("editor"):
        raise Problem(Kind.FORBIDDEN, "to delete jobs needs the role editor")
    return await _answer(context.bulk_commands.jobs(caller, action, wanted, part), "job_id")


@router.post("/runs:bulk", tags=["runs"], openapi_extra=openapi.BULK_RUNS)
async def bulk_runs(request: Request, context: Current, caller: Acting) -> Json:
    """Cancel all unfinished runs that match, or redrive all dead ones."""
    Parameters(request)
    errors: list[FieldError] = []
    fields = Fields(await read_object(request), errors)
    fields.require("action", "filter")
    action = fields.read("action", _RUN_ACTIONS[0], one_of(*_RUN_ACTIONS))
    asked = fields.section("filter")
    status = one_of(*STATUSES)
    wanted = RunFilter(
        tenant=caller.tenant,
        job_id=asked.read("job_id", None, text),
        statuses=asked.read("status", (), lambda value: tuple(map(status, _texts(value)))),
        tags=tuple(map(tag_of, asked.read("tag", (), _texts))),
        handler=asked.read("handler", None, text),
        since=asked.read("since", None, instant),
        until=asked.read("until", None, instant),
    )
    part = _finish(fields, asked, errors)
    return await _answer(context.bulk_commands.runs(caller, action, wanted, part), "run_id")


def _finish(fields: Fields, asked: Fields, errors: list[FieldError]) -> Slice:
    """How much is meant; raises `Problem` where anything is wrong."""
    part = Slice(
        expect=fields.read("expect", None, whole),
        limit=fields.read("limit", MOST, _limit),
        cursor=fields.read("cursor", None, text),
    )
    asked.finish()
    fields.finish()
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)
    return part


def _limit(value: object) -> int:
    if not 1 <= whole(value) <= MOST:
        raise WrongValue("maximum", f"expected 1 to {MOST:,}")
    return whole(value)


def _texts(value: object) -> tuple[str, ...]:
    """A text or a list of such."""
    if isinstance(value, list):
        return tuple(map(text, value))
    if isinstance(value, str):
        return (value,)
    raise WrongValue("type", "expected text, or a list of texts")


async def _answer(command: Awaitable[Bulk], name: str) -> Json:
    try:
        bulk = await command
    except InvalidCursor as error:
        wrong = FieldError(pointer="/cursor", keyword="cursor", message=str(error))
        raise invalid(Kind.INVALID_REQUEST, [wrong]) from None
    if bulk.done is None:
        return Json({"matched": bulk.matched})
    refused: list[JsonValue] = [{name: each.name, "detail": each.detail} for each in bulk.refused]
    going_on: JsonObject = {}
    if bulk.next_cursor is not None:
        going_on = {"next_cursor": bulk.next_cursor, "left": bulk.left}
    return Json({"matched": bulk.matched, "done": bulk.done, "refused": refused, **going_on})
