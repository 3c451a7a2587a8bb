"""/v1/stats and the statistics of a job."""

from fastapi import APIRouter, Request

from tocsin.model.strict_json import JsonObject
from tocsin_gateway.api import openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.context import Context, Current, ExistingKey, Tenant
from tocsin_gateway.api.documents import instant
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, Problem
from tocsin_gateway.projection.statistics import Statistics
from tocsin_gateway.projection.tally import Spread

router = APIRouter(prefix="/v1", tags=["statistics"])

_DAY_MS = 86_400_000


@router.get("/jobs/{job_id}/stats", openapi_extra=openapi.STATS_OF_JOB)
def stats_of_job(request: Request, context: Current, key: ExistingKey) -> Json:
    """What became of a job's occurrences since a time, by default over a day."""
    since = _since(request, context)
    if context.jobs.held(key) is None:
        raise Problem(Kind.NOT_FOUND, f"there is no job {key}")
    return Json(_document(context.statistics.of_job(key, since), context))


@router.get("/stats", openapi_extra=openapi.STATS)
def stats(request: Request, context: Current, tenant: Tenant) -> Json:
    """The same over all jobs of the tenant, with the jobs by phase and the state of the read
    model."""
    since = _since(request, context)
    jobs: JsonObject = dict(context.statistics.jobs(tenant))
    read_model: JsonObject = {
        "history_complete": context.progress.history_complete,
        "problem": context.progress.problem,
    }
    found = _document(context.statistics.of_tenant(tenant, since), context)
    return Json({**found, "jobs": jobs, "read_model": read_model})


def _since(request: Request, context: Context) -> int:
    now = context.clock.now_ms()
    since = Parameters(request, "since").instant_or_ago("since", now)
    return now - _DAY_MS if since is None else since


def _document(found: Statistics, context: Context) -> JsonObject:
    statuses: JsonObject = {str(status): number for status, number in found.statuses.items()}
    reasons: JsonObject = dict(found.reasons)
    return {
        "since": instant(found.since),
        "until": instant(context.clock.now_ms()),
        "is_whole": found.is_whole,
        "occurrences": statuses,
        "not_run": reasons,
        "success_rate": found.success_rate,
        "retried": found.retried,
        "duration_ms": _spread(found.duration),
        "lateness_ms": _spread(found.lateness),
    }


def _spread(spread: Spread) -> JsonObject:
    return {"count": spread.count, "mean": spread.mean, **spread.quantiles}
