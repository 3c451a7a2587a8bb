"""Answers in JSON."""

from collections.abc import Mapping

import msgspec
from fastapi import Response

from tocsin.model.strict_json import JsonObject
from tocsin_gateway.api.conditions import etag


class Json(Response):
    """An answer with a JSON object."""

    media_type = "application/json"

    def __init__(
        self,
        document: JsonObject,
        status: int = 200,
        headers: dict[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        super().__init__(msgspec.json.encode(document), status, headers, media_type)


def with_etag(
    document: JsonObject,
    revision: int,
    status: int = 200,
    location: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Json:
    """A job, with the ETag of its revision."""
    headers = {"ETag": etag(revision), **(headers or {})}
    if location is not None:
        headers["Location"] = location
    return Json(document, status, headers)
