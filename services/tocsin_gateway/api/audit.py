"""/v1/audit: who did what, for those who are admin."""

from fastapi import APIRouter, Request

from tocsin.model.strict_json import JsonObject
from tocsin_gateway.api import documents, openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.context import Current, Tenant
from tocsin_gateway.api.parameters import Parameters, wrong_cursor
from tocsin_gateway.projection.audit_log import AuditFilter, AuditRow
from tocsin_gateway.projection.cursors import InvalidCursor

router = APIRouter(prefix="/v1", tags=["access"])

_DAY_MS = 86_400_000


@router.get("/audit", openapi_extra=openapi.LIST_AUDIT)
def list_audit(request: Request, context: Current, tenant: Tenant) -> Json:
    """What was done in the tenant, newest first; the last day unless `since` says otherwise."""
    names = ("actor", "action", "object", "since", "until", "cursor", "limit")
    query, now = Parameters(request, *names), context.clock.now_ms()
    since = query.instant_or_ago("since", now)
    wanted = AuditFilter(
        tenant=tenant,
        actor=query.text("actor"),
        action=query.text("action"),
        object=query.text("object"),
        since=now - _DAY_MS if since is None else since,
        until=query.instant("until"),
    )
    try:
        page = context.audit_log.page(wanted, query.text("cursor"), query.limit())
    except InvalidCursor as error:
        raise wrong_cursor(error) from None
    return Json(documents.page(list(map(_document, page.items)), page.next_cursor))


def _document(row: AuditRow) -> JsonObject:
    entry = row.entry
    return {
        "time": documents.instant(entry.time),
        "actor": entry.actor,
        "action": entry.action,
        "object": entry.object,
        "before_revision": entry.before_revision,
        "after_revision": entry.after_revision,
        "request_id": entry.request_id,
        "outcome": "done" if row.was_done else "unknown",
    }
