"""What an answer means, and how much of it history keeps."""

import base64
import re
from datetime import UTC
from email.utils import parsedate_to_datetime

import aiohttp
import msgspec

from tocsin_worker.limits import RESULT_BYTES

MAX_BODY_BYTES = 32 * 1024
MAX_HEADERS = 64
MAX_HEADER_BYTES = 8 * 1024
MAX_EXCERPT = 1_000

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class HttpResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kept as JSON. A body that is not text is in `body_base64`; `truncated`: there was more."""

    status: int
    headers: dict[str, str]
    body: str | None = None
    body_base64: str | None = None
    truncated: bool = False


async def read_head(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """At most the first `limit` bytes of the body."""
    body = bytearray()
    await read_into(body, response, limit)
    return bytes(body)


async def read_into(body: bytearray, response: aiohttp.ClientResponse, limit: int) -> None:
    """As `read_head`; what has come stands in `body` also where the rest does not."""
    async for part in response.content.iter_any():
        body += part
        if len(body) >= limit:
            response.close()
            del body[limit:]
            return


def result(status: int, headers: dict[str, str], body: bytes, charset: str | None) -> bytes:
    """JSON of at most `RESULT_BYTES`. Of a body longer than `MAX_BODY_BYTES` the head is kept."""
    kept = body[:MAX_BODY_BYTES]
    while True:
        encoded = _encode(status, headers, kept, charset, truncated=len(kept) < len(body))
        if len(encoded) <= RESULT_BYTES:
            return encoded
        kept = kept[: len(kept) // 2]


def _encode(
    status: int, headers: dict[str, str], body: bytes, charset: str | None, *, truncated: bool
) -> bytes:
    text = _text(body, charset, truncated=truncated)
    encoded = None if text is not None else base64.b64encode(body).decode()
    return msgspec.json.encode(
        HttpResult(status, _bounded(headers), text, encoded, truncated=truncated)
    )


def _text(body: bytes, charset: str | None, *, truncated: bool) -> str | None:
    """None if the bytes are not text in their charset (UTF-8 unless named). The target chooses it,
    so it may be none at all, or one in which they mean half a surrogate pair."""
    try:
        text = body.decode(charset or "utf-8")
        text.encode()
    except UnicodeDecodeError as error:
        cut_inside_a_character = truncated and error.start >= len(body) - 3
        return (
            _text(body[: error.start], charset, truncated=False) if cut_inside_a_character else None
        )
    except (LookupError, ValueError):
        return None
    return text


def _bounded(headers: dict[str, str]) -> dict[str, str]:
    kept: dict[str, str] = {}
    room = MAX_HEADER_BYTES
    for name, value in list(headers.items())[:MAX_HEADERS]:
        room -= len(name) + len(value)
        if room < 0:
            break
        kept[name] = value.encode(errors="replace").decode()
    return kept


def status_message(what: str, status: int, body: bytes) -> str:
    """What history says of a status that is no success. `what`: method and URL, without query."""
    text = _UNPRINTABLE.sub(" ", body[:MAX_EXCERPT].decode(errors="replace")).strip()
    return f"{what} answered {status}" + (f": {text}" if text else "")


def retry_after_ms(value: str | None, now_ms: int) -> int | None:
    """RFC 9110 §10.2.3: whole seconds or an HTTP date; None where it is neither."""
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.isdigit() and len(value) <= 10:
        return int(value) * 1000
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0, int(moment.timestamp() * 1000) - now_ms)
