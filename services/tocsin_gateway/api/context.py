"""What requests are served from, and who asks.

The dependencies are coroutines, since FastAPI sends any other function to a thread. They call one
another, since it goes through all that a dependency depends on wherever that stands, known or not.
The endpoints that are asked most call them themselves: each dependency costs a tenth of a
millisecond.
"""

import re
from collections.abc import Set as AbstractSet
from functools import lru_cache
from ipaddress import ip_address
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

from fastapi import Depends, Request

from tocsin.model.access import Role
from tocsin.model.keys import DEFAULT_TENANT, InvalidKey, JobKey, job_key
from tocsin.wire.topics import Topics
from tocsin_gateway.access.guard import Guard, NotReady
from tocsin_gateway.access.identity import (
    LOOPBACK,
    Caller,
    Identity,
    NotAuthenticated,
    NotAuthorised,
)
from tocsin_gateway.access.issuer import IssuerUnavailable
from tocsin_gateway.access.rates import RateLimiter
from tocsin_gateway.api.event_stream import Streams
from tocsin_gateway.api.problems import Kind, Problem
from tocsin_gateway.commands.audit_trail import AuditTrail
from tocsin_gateway.commands.backfill_commands import BackfillCommands
from tocsin_gateway.commands.bulk_commands import BulkCommands
from tocsin_gateway.commands.job_commands import JobCommands
from tocsin_gateway.commands.run_commands import RunCommands
from tocsin_gateway.commands.token_commands import TokenCommands
from tocsin_gateway.handler_checks import HandlerChecks
from tocsin_gateway.projection.audit_log import AuditReads
from tocsin_gateway.projection.backfills import BackfillReads
from tocsin_gateway.projection.event_feed import EventFeed
from tocsin_gateway.projection.job_lookups import JobLookups
from tocsin_gateway.projection.job_reads import JobReads
from tocsin_gateway.projection.progress import Progress
from tocsin_gateway.projection.projector import Clock
from tocsin_gateway.projection.run_reads import RunReads
from tocsin_gateway.projection.statistics import StatisticsReads

TENANT_HEADER = "Tocsin-Tenant"
_RUN_ID = re.compile(r"[A-Za-z0-9._-]{1,320}", re.ASCII)


class Context(NamedTuple):
    """The gateway's parts."""

    topics: Topics
    jobs: JobReads
    lookups: JobLookups
    runs: RunReads
    backfills: BackfillReads
    statistics: StatisticsReads
    events: EventFeed
    streams: Streams
    job_commands: JobCommands
    run_commands: RunCommands
    backfill_commands: BackfillCommands
    bulk_commands: BulkCommands
    progress: Progress
    clock: Clock
    guard: Guard
    limiter: RateLimiter
    token_commands: TokenCommands
    audit_trail: AuditTrail
    audit_log: AuditReads
    handler_checks: HandlerChecks
    cors_origins: frozenset[str]


def context_of(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


async def current(request: Request) -> Context:
    """As `context_of`."""
    return context_of(request)


async def _authenticated(request: Request) -> Identity:
    """Who asks; raises `Problem` 401, 403, 429 or 503."""
    context = context_of(request)
    host = request.client.host if request.client else "unknown"
    try:
        identity = await context.guard.identify(request.headers.get("Authorization"))
    except NotAuthenticated as error:
        _check_rate(context, f"refused {host}")
        raise Problem(
            Kind.UNAUTHORIZED, str(error), headers={"WWW-Authenticate": "Bearer"}
        ) from None
    except NotAuthorised as error:
        raise Problem(Kind.FORBIDDEN, str(error)) from None
    except (NotReady, IssuerUnavailable) as error:
        raise Problem(Kind.NOT_READY, str(error)) from None
    if identity is LOOPBACK:
        _check_loopback(request, context.cors_origins)
    _check_rate(context, identity.actor)
    return identity


async def acting(request: Request) -> Caller:
    """Who acts, in which tenant: found out once a request, however many ask.

    Raises `Problem` 401, 429; 400, 403 where they may not do this there; 503 as long as the jobs
    are not read.
    """
    known: Caller | None = getattr(request.state, "caller", None)
    if known is None:
        known = request.state.caller = await _admitted(request)
    return known


async def _admitted(request: Request) -> Caller:
    context, identity = context_of(request), await _authenticated(request)
    _check_role(request, identity)
    tenant = _tenant(request.headers.get(TENANT_HEADER), identity)
    if not context.progress.jobs_complete:
        raise Problem(Kind.NOT_READY, "the jobs are being read from the log; ask again soon")
    return Caller(identity=identity, tenant=tenant, request_id=request.state.request_id)


async def still_admitted(request: Request, caller: Caller) -> bool:
    """Whether who asked would be let in as the same caller now, where a request goes on and on.
    As long as that cannot be found out, they are."""
    try:
        identity = await context_of(request).guard.identify(request.headers.get("Authorization"))
    except (NotAuthenticated, NotAuthorised):
        return False
    except (NotReady, IssuerUnavailable):
        return True
    return identity == caller.identity


async def authorised_tenant(request: Request) -> str:
    """The tenant that the request acts for; raises what `acting` raises."""
    return (await acting(request)).tenant


async def existing_key(request: Request, job_id: str) -> JobKey:
    """The key of a job that may exist; what no job can be called is not found. Raises what `acting`
    raises."""
    tenant = await authorised_tenant(request)
    try:
        return job_key(tenant, job_id)
    except InvalidKey:
        raise Problem(Kind.NOT_FOUND, f"there is no job {tenant}/{job_id[:200]}") from None


async def existing_run(request: Request, run_id: str) -> str:
    """The id of a row of the tenant's history that may exist, of a run or of several occurrences
    together; what none can be called is not found. Raises what `acting` raises."""
    tenant = await authorised_tenant(request)
    if not (run_id.startswith(f"{tenant}.") and _RUN_ID.fullmatch(run_id)):
        raise Problem(Kind.NOT_FOUND, f"there is no run {run_id[:300]}")
    return run_id


Current = Annotated[Context, Depends(current)]
Acting = Annotated[Caller, Depends(acting)]
Tenant = Annotated[str, Depends(authorised_tenant)]
ExistingKey = Annotated[JobKey, Depends(existing_key)]
ExistingRun = Annotated[str, Depends(existing_run)]


@lru_cache(100)
def _host_asked(header: str) -> str:
    """The host in a header Host; empty where it is none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return ""


@lru_cache(100)
def is_loopback(host: str) -> bool:
    """Whether a host name or address can only mean this machine."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check_loopback(request: Request, cors_origins: AbstractSet[str]) -> None:
    """A page in a browser must not reach the API by a name that it has made to resolve here, nor
    command it without reading the answer, for which a browser asks nobody."""
    header = request.headers.get("Host")
    host = request.url.hostname if header is None else _host_asked(header)
    if not is_loopback(host or ""):
        raise Problem(
            Kind.FORBIDDEN,
            "without tokens the gateway answers only to localhost and 127.0.0.1",
        )
    if _is_of_foreign_page(request, cors_origins):
        raise Problem(
            Kind.FORBIDDEN,
            "without tokens the gateway answers no page of another site; TOCSIN_CORS_ORIGINS names "
            "those that may ask",
        )


def _is_of_foreign_page(request: Request, cors_origins: AbstractSet[str]) -> bool:
    """By what browsers say of the page that asks (Fetch Standard §3.2, Fetch Metadata §2.4)."""
    origin = request.headers.get("Origin")
    if origin is None:
        return request.headers.get("Sec-Fetch-Site") == "cross-site"
    return origin not in cors_origins and not _is_of_loopback(origin)


def _is_of_loopback(origin: str) -> bool:
    try:
        return is_loopback(urlsplit(origin).hostname or "")
    except ValueError:
        return False


def _check_role(request: Request, identity: Identity) -> None:
    """By what the OpenAPI document says of the operation; where it says nothing, admin."""
    declared = getattr(request.scope.get("route"), "openapi_extra", None) or {}
    role: Role = declared.get("x-role", "admin")
    if not identity.may(role):
        raise Problem(
            Kind.FORBIDDEN, f"this needs the role {role}; {identity.actor} is {identity.role}"
        )


def _tenant(asked: str | None, identity: Identity) -> str:
    if identity.tenant is not None:
        if asked not in (None, identity.tenant):
            raise Problem(Kind.FORBIDDEN, f"{identity.actor} acts for {identity.tenant} alone")
        return identity.tenant
    tenant = DEFAULT_TENANT if asked is None else asked
    try:
        return job_key(tenant, "any").tenant
    except InvalidKey as error:
        raise Problem(Kind.BAD_REQUEST, f"header {TENANT_HEADER}: {error}") from None


def _check_rate(context: Context, name: str) -> None:
    if not context.limiter.take(name):
        raise Problem(
            Kind.TOO_MANY_REQUESTS, "slow down; ask again in a second", headers={"Retry-After": "1"}
        )
