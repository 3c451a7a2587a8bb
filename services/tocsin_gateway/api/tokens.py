"""/v1/tokens: API tokens, for those who are admin."""

import re

from fastapi import APIRouter, Request, Response

from tocsin.model.access import ROLES, Token
from tocsin.model.errors import FieldError
from tocsin.model.fields import Fields, WrongValue, instant, one_of, text
from tocsin.model.keys import InvalidKey, job_key
from tocsin.model.strict_json import JsonObject, JsonValue
from tocsin_gateway.access.tokens import status_of
from tocsin_gateway.api import documents, openapi
from tocsin_gateway.api.answers import Json
from tocsin_gateway.api.bodies import read_object
from tocsin_gateway.api.context import Acting, Current
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, Problem, invalid

router = APIRouter(prefix="/v1/tokens", tags=["access"])

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}", re.ASCII)


@router.get("", openapi_extra=openapi.LIST_TOKENS)
def list_tokens(request: Request, context: Current, caller: Acting) -> Json:
    """All tokens, revoked and expired ones too; never their secrets."""
    Parameters(request)
    now = context.clock.now_ms()
    found = context.token_commands.tokens(caller.identity.tenant)
    items: list[JsonValue] = [_document(token, now) for token in found]
    return Json({"items": items})


@router.post("", status_code=201, openapi_extra=openapi.CREATE_TOKEN)
async def create_token(request: Request, context: Current, caller: Acting) -> Json:
    """Make a token. Its secret is in the answer, and nowhere else ever."""
    Parameters(request)
    errors: list[FieldError] = []
    document = await read_object(request)
    fields = Fields(document, errors)
    fields.require("name", "role")
    name = fields.read("name", "", _name)
    role = fields.read("role", ROLES[0], one_of(*ROLES))
    tenant = fields.read("tenant", None, _tenant)
    expires = fields.read("expires_time", None, instant)
    fields.finish()
    now = context.clock.now_ms()
    if expires is not None and expires <= now:
        errors.append(FieldError(pointer="/expires_time", keyword="past", message="has passed"))
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)
    tenant = tenant if "tenant" in document else caller.tenant
    if caller.identity.tenant not in (None, tenant):
        raise Problem(Kind.FORBIDDEN, f"make tokens of your own tenant, {caller.tenant}")
    async with context.audit_trail.about(caller, "create", f"token/{name}") as deed:
        made = await context.token_commands.create(name, role, tenant, expires)
        deed.done()
    return Json({**_document(made.token, now), "token": made.secret}, 201)


@router.delete("/{name}", status_code=204, openapi_extra=openapi.REVOKE_TOKEN)
async def revoke_token(request: Request, name: str, context: Current, caller: Acting) -> Response:
    """Let a token be good no more."""
    Parameters(request)
    async with context.audit_trail.about(caller, "revoke", f"token/{name}") as deed:
        await context.token_commands.revoke(name, caller.identity.tenant)
        deed.done()
    return Response(status_code=204)


def _document(token: Token, now: int) -> JsonObject:
    return {
        "name": token.name,
        "role": token.role,
        "tenant": token.tenant,
        "status": status_of(token, now),
        "created_time": documents.instant(token.created_time),
        "expires_time": documents.instant(token.expires_time),
        "revoked_time": documents.instant(token.revoked_time),
    }


def _name(value: object) -> str:
    if not _NAME.fullmatch(text(value)):
        allowed = "1 to 100 of A-Z, a-z, 0-9, '.', '_', '@' and '-', a letter or digit first"
        raise WrongValue("pattern", f"is not a name for a token: {allowed}")
    return text(value)


def _tenant(value: object) -> str:
    try:
        return job_key(text(value), "any").tenant
    except InvalidKey as error:
        raise WrongValue("pattern", str(error)) from None
