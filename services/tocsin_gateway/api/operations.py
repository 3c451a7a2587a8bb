"""Health, readiness, metrics, version and the documentation page; no token is needed."""

from fastapi import APIRouter, Request, Response

from tocsin import __version__
from tocsin.metrics import CONTENT_TYPE, Metrics
from tocsin.model.strict_json import JsonObject
from tocsin.timetable import TZDATA_VERSION
from tocsin.wire.codec import schema_ids
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.context import Current
from tocsin_gateway.resources import read_resource

router = APIRouter(include_in_schema=False)


@router.get("/healthz/live")
def live() -> Json:
    """The process answers."""
    return Json({"status": "live"})


@router.get("/healthz/ready")
def ready(context: Current) -> Json:
    """Whether the read model is whole and kept up."""
    progress = context.progress
    reason = progress.problem
    if reason is None and not progress.jobs_complete:
        reason = "the jobs are being read from the log"
    if reason is None and not context.guard.is_ready:
        reason = "the tokens are being read from the log"
    if reason is not None:
        return Json({"status": "not ready", "reason": reason}, 503)
    return Json({"status": "ready", "history_complete": progress.history_complete})


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """Prometheus' text format."""
    measured: Metrics = request.app.state.metrics
    return Response(measured.exposition(), media_type=CONTENT_TYPE)


@router.get("/version")
def version() -> Json:
    """What this process is made of."""
    schemas: JsonObject = dict(schema_ids())
    return Json({"version": __version__, "tzdata": TZDATA_VERSION, "schemas": schemas})


@router.get("/docs")
def docs() -> Response:
    """The OpenAPI document as a page that needs nothing from elsewhere."""
    return Response(read_resource("docs.html"), media_type="text/html")
