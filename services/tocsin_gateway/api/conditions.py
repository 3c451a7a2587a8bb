"""If-Match and If-None-Match (RFC 9110 §13) in terms of revisions. ETag = `"revision"`."""

import re

from fastapi import Request

from tocsin_gateway.api.problems import Kind, Problem
from tocsin_gateway.commands.preconditions import Precondition

_TAG = re.compile(r'\s*(W/)?"([^"]*)"\s*')
_NUMBER = re.compile(r"[0-9]{1,18}", re.ASCII)


def etag(revision: int) -> str:
    return f'"{revision}"'


def read_precondition(request: Request) -> Precondition:
    """The condition in the headers of a write; raises `Problem` 400 for what makes no sense."""
    match = request.headers.get("If-Match")
    none_match = request.headers.get("If-None-Match")
    if match is not None and none_match is not None:
        raise Problem(Kind.BAD_REQUEST, "send one of If-Match and If-None-Match")
    if none_match is not None:
        if none_match.strip() != "*":
            raise Problem(Kind.BAD_REQUEST, "for a write If-None-Match can only be *")
        return Precondition(exists=False)
    if match is None:
        return Precondition()
    if match.strip() == "*":
        return Precondition(exists=True)
    return Precondition(revisions=_revisions(match))


def is_known(request: Request, revision: int) -> bool:
    """Whether a reader has this revision already (If-None-Match of a GET)."""
    given = request.headers.get("If-None-Match", "")
    return given.strip() == "*" or etag(revision) in re.findall(r'"[^"]*"', given)


def _revisions(header: str) -> tuple[int, ...]:
    """The strong ETags that are revisions; others match nothing (RFC 9110 §13.1.1)."""
    tags = [_TAG.fullmatch(part) for part in header.split(",")]
    strong = (tag[2] for tag in tags if tag is not None and not tag[1])
    return tuple(int(text) for text in strong if _NUMBER.fullmatch(text))
