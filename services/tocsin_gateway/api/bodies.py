"""Reading the body of a request."""

from email.message import Message
from functools import lru_cache

from fastapi import Request

from tocsin.model.errors import FieldError, pointer
from tocsin.model.fields import Fields
from tocsin.model.json_place import place_of
from tocsin.model.strict_json import InvalidJson, JsonObject, JsonValue, RefusedJson, loads
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, Problem, invalid

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
MAX_BODY_BYTES = 1024 * 1024
"""More than a definition of the largest size takes, with blanks and escapes."""


async def read_json(request: Request, *media_types: str) -> JsonValue:
    """The JSON value in the body; raises `Problem` 400, 413, 415 or 422."""
    _check_type(request, media_types or (JSON,))
    body = await read_body(request)
    try:
        return loads(body)
    except RefusedJson as error:
        place = place_of(body.decode(), error.position)
        wrong = FieldError(pointer=pointer(*place), keyword="json", message=str(error))
        raise invalid(Kind.INVALID_REQUEST, [wrong]) from None
    except InvalidJson as error:
        raise Problem(Kind.NOT_JSON, str(error)) from None


async def read_object(request: Request, *media_types: str) -> JsonObject:
    """The JSON object in the body; raises `Problem` also where it is another value."""
    value = await read_json(request, *media_types)
    if isinstance(value, dict):
        return value
    wrong = FieldError(pointer="", keyword="type", message="expected an object")
    raise invalid(Kind.INVALID_REQUEST, [wrong])


async def read_optional_object(request: Request) -> JsonObject:
    """The JSON object in the body, empty where there is no body, of a command that takes no
    parameters; raises `Problem` where it is given some, such as `dry_run`."""
    Parameters(request)
    if not await read_body(request):
        return {}
    return await read_object(request)


async def no_fields(request: Request) -> None:
    """Raises `Problem` where a command that takes none is given fields or parameters."""
    errors: list[FieldError] = []
    Fields(await read_optional_object(request), errors).finish()
    if errors:
        raise invalid(Kind.INVALID_REQUEST, errors)


def _check_type(request: Request, media_types: tuple[str, ...]) -> None:
    media_type, charset = _media_type(request.headers.get("Content-Type", ""))
    if media_type not in media_types or charset not in ("utf-8", "utf8"):
        expected = " or ".join(media_types)
        raise Problem(Kind.MEDIA_TYPE, f"send the header Content-Type: {expected}, in UTF-8")


@lru_cache(100)
def _media_type(header: str) -> tuple[str, str]:
    """Type and charset, both in lower case; there are few such headers."""
    message = Message()
    message["Content-Type"] = header
    return message.get_content_type(), (message.get_content_charset() or "utf-8").lower()


async def read_body(request: Request) -> bytes:
    """The body, kept in the request for a second reading; raises `Problem` 413."""
    kept: bytes | None = getattr(request.state, "body", None)
    if kept is not None:
        return kept
    declared = request.headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
    request.state.body = bytes(body)
    return bytes(body)


def _too_large() -> Problem:
    return Problem(Kind.TOO_LARGE, f"a body has at most {MAX_BODY_BYTES:,} bytes")
