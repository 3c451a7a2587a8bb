"""/v1/runs and the runs of a job: the history."""

from fastapi import APIRouter, Request

from tocsin.model.keys import InvalidKey, JobKey, job_key
from tocsin.model.strict_json import JsonObject
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.context import Context, Current, ExistingKey, ExistingRun, Tenant
from tocsin_gateway.api.documents import run_detail, run_page
from tocsin_gateway.api.parameters import Parameters, wrong_cursor
from tocsin_gateway.api.problems import Kind, Problem
from tocsin_gateway.api.words import STATUSES
from tocsin_gateway.projection.cursors import InvalidCursor
from tocsin_gateway.projection.run_reads import RunFilter

router = APIRouter(prefix="/v1", tags=["runs"])

_FILTERS = ("status", "since", "until", "cursor", "limit")


@router.get("/jobs/{job_id}/runs", openapi_extra=openapi.LIST_RUNS_OF_JOB)
def list_runs_of_job(request: Request, context: Current, key: ExistingKey) -> Json:
    """The runs of a job, newest first; also those of a job that was deleted."""
    page = _page(context, Parameters(request, *_FILTERS), key.tenant, key.job_id)
    if not page["items"] and context.jobs.held(key) is None:
        raise Problem(Kind.NOT_FOUND, f"there is no job {key}")
    return Json(page)


@router.get("/runs", openapi_extra=openapi.LIST_RUNS)
def list_runs(request: Request, context: Current, tenant: Tenant) -> Json:
    """The tenant's runs, newest first."""
    query = Parameters(request, "job_id", "tag", "handler", *_FILTERS)
    job_id = query.text("job_id")
    if job_id is not None and not _is_job_id(tenant, job_id):
        return Json({"items": []})
    return Json(_page(context, query, tenant, job_id))


@router.get("/runs/{run_id}", openapi_extra=openapi.GET_RUN)
def get_run(request: Request, run_id: ExistingRun, context: Current) -> Json:
    """One run, with its attempts and the decisions about it."""
    Parameters(request)
    detail = context.runs.detail(run_id)
    if detail is None:
        raise Problem(Kind.NOT_FOUND, f"there is no run {run_id[:300]}")
    return Json(run_detail(detail))


def _page(context: Context, query: Parameters, tenant: str, job_id: str | None) -> JsonObject:
    wanted = RunFilter(
        tenant=tenant,
        job_id=job_id,
        statuses=query.some_of("status", STATUSES),
        tags=query.tags(),
        handler=query.text("handler"),
        since=query.instant_or_ago("since", context.clock.now_ms()),
        until=query.instant("until"),
    )
    try:
        page = context.runs.page(wanted, query.text("cursor"), query.limit())
    except InvalidCursor as error:
        raise wrong_cursor(error) from None
    return run_page(page)


def _is_job_id(tenant: str, job_id: str) -> bool:
    try:
        return isinstance(job_key(tenant, job_id), JobKey)
    except InvalidKey:
        return False
