"""The HTTP application: routes, what surrounds each request, and errors as problem details."""

import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from tocsin.metrics import Metrics
from tocsin.model.errors import InvalidJob, InvalidSignal
from tocsin_gateway.api import (
    audit,
    backfills,
    bulk,
    events,
    jobs,
    operations,
    run_actions,
    runs,
    schedules,
    schema_registry,
    statistics,
    tokens,
)
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.context import Context
from tocsin_gateway.api.openapi import components
from tocsin_gateway.api.problems import MEDIA_TYPE, Kind, Problem, invalid
from tocsin_gateway.api.schema_registry import RegistryError, answer_registry_error
from tocsin_gateway.api.surroundings import Surroundings
from tocsin_gateway.commands import errors

log = logging.getLogger(__name__)

_COMMAND_PROBLEMS: dict[type[errors.CommandError], Kind] = {
    errors.NotDurable: Kind.NOT_DURABLE,
    errors.Unconfirmed: Kind.UNCONFIRMED,
    errors.TooLarge: Kind.TOO_LARGE,
    errors.NoSuchJob: Kind.NOT_FOUND,
    errors.JobExists: Kind.EXISTS,
    errors.WrongRevision: Kind.REVISION,
    errors.Busy: Kind.BUSY,
    errors.InFlight: Kind.IN_FLIGHT,
    errors.KeyReused: Kind.KEY_REUSED,
    errors.NoSuchRun: Kind.NOT_FOUND,
    errors.NoSuchBackfill: Kind.NOT_FOUND,
    errors.BackfillEnded: Kind.ENDED,
    errors.TokenExists: Kind.TOKEN_EXISTS,
    errors.NoSuchToken: Kind.NOT_FOUND,
    errors.CountDiffers: Kind.COUNT,
    errors.TooMany: Kind.TOO_MANY,
    errors.NotDead: Kind.NOT_DEAD,
    errors.NotDeferred: Kind.NOT_DEFERRED,
    errors.RunEnded: Kind.ENDED,
}
_HTTP_PROBLEMS = {
    HTTPStatus.NOT_FOUND: (Kind.NOT_FOUND, "there is nothing at this path"),
    HTTPStatus.METHOD_NOT_ALLOWED: (Kind.METHOD_NOT_ALLOWED, "see /docs for what can be done here"),
}


MODULES = (
    jobs,
    bulk,
    backfills,
    runs,
    run_actions,
    schedules,
    statistics,
    events,
    tokens,
    audit,
    schema_registry,
    operations,
)


def build_app(
    context: Context, metrics: Metrics, version: str, cors_origins: Sequence[str] = ()
) -> FastAPI:
    """The application over the given parts; it starts and stops nothing.

    cors_origins: pages of these may ask from a browser, without cookies.
    """
    app = FastAPI(
        title="Tocsin",
        version=version,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    app.state.context = context
    app.state.metrics = metrics
    for module in MODULES:
        # To include a router would make all its routes once more, for a tenth of a second.
        app.router.routes.extend(module.router.routes)
    for kind in (Problem, errors.CommandError, InvalidJob, InvalidSignal, HTTPException):
        app.add_exception_handler(kind, _answer_error)
    for other in (RequestValidationError, SQLAlchemyError):
        app.add_exception_handler(other, _answer_error)
    if cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=cors_origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["*"],
            expose_headers=["ETag", "Location", "Retry-After", "X-Request-Id", jobs.UNCHECKED],
        )
    app.add_exception_handler(RegistryError, answer_registry_error)
    app.add_middleware(Surroundings, metrics=metrics, answer_error=_answer_error)
    _describe(app)
    return app


def problem_of(error: Exception) -> Problem:
    """What to answer where a request ended with this error."""
    match error:
        case Problem():
            return error
        case errors.CommandError():
            return Problem(_COMMAND_PROBLEMS[type(error)], str(error), done=error.done)
        case InvalidJob():
            return invalid(Kind.INVALID_JOB, error.errors)
        case InvalidSignal():
            return invalid(Kind.INVALID_REQUEST, error.errors)
        case HTTPException(status_code=status) if HTTPStatus(status) in _HTTP_PROBLEMS:
            kind, detail = _HTTP_PROBLEMS[HTTPStatus(status)]
            return Problem(kind, detail, headers=error.headers)
        case HTTPException() | RequestValidationError():
            return Problem(Kind.BAD_REQUEST, "the request cannot be read")
        case SQLAlchemyError():
            return Problem(Kind.UNAVAILABLE, "the database of the read model does not answer")
    return Problem(Kind.INTERNAL, "this is a defect; the log of the gateway tells more")


async def _answer_error(request: Request, error: Exception) -> Response:
    problem = problem_of(error)
    request_id: str = getattr(request.state, "request_id", "") or str(uuid4())
    if problem.kind is Kind.INTERNAL or isinstance(error, SQLAlchemyError):
        log.error(
            "a request failed",
            exc_info=error,
            extra={"action": "request_failed", "request_id": request_id},
        )
    document = problem.document(request_id)
    return Json(document, problem.kind.status, problem.headers, MEDIA_TYPE)


def _keep_declared(operation: dict[str, Any]) -> None:
    """Undo what was generated beside what `api/openapi.py` says of an operation."""
    operation["parameters"] = [each for each in operation["parameters"] if "$ref" in each]
    for status, answer in operation["responses"].items():
        if "$ref" in answer:
            operation["responses"][status] = {"$ref": answer["$ref"]}


def _describe(app: FastAPI) -> None:
    """Let the OpenAPI document have our components and parameters, and no generated ones."""
    generate = app.openapi

    def described() -> dict[str, Any]:
        document = generate()
        document["components"] = {
            **components(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        }
        for methods in document["paths"].values():
            for operation in methods.values():
                _keep_declared(operation)
        document["security"] = [{}, {"token": []}]
        return document

    app.openapi = described  # type: ignore[method-assign]
