"""The header Idempotency-Key of a command: sent twice it is carried out once."""

import hashlib
import re
from typing import Annotated

from fastapi import Depends, Request

from tocsin.wire.headers import Idempotency
from tocsin_gateway.api.bodies import read_body
from tocsin_gateway.api.context import acting
from tocsin_gateway.api.problems import Kind, Problem

HEADER = "Idempotency-Key"
REPLAYED = "Idempotency-Replayed"

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


async def read_idempotency(request: Request) -> Idempotency | None:
    """The caller's key with a digest of all that is asked for; raises `Problem` 400 and 413, and
    what `acting` raises, before the body is read."""
    await acting(request)
    keys = request.headers.getlist(HEADER)
    if not keys:
        return None
    if len(keys) > 1 or not _KEY.fullmatch(keys[0]):
        raise Problem(Kind.BAD_REQUEST, f"header {HEADER}: 1 to 255 visible ASCII characters, once")
    parts = (request.method, request.url.path, request.url.query)
    asked = hashlib.sha256("\n".join(parts).encode() + b"\n" + await read_body(request))
    return Idempotency(keys[0], asked.hexdigest())


Once = Annotated[Idempotency | None, Depends(read_idempotency)]


def replayed(is_replayed: bool) -> dict[str, str]:
    """The header that says that the command was carried out before."""
    return {REPLAYED: "true"} if is_replayed else {}
