"""Paths of the API with names in them."""

import re
from urllib.parse import quote

from tocsin.client.errors import Invalid, ProblemDetails

_ELSEWHERE = re.compile("\\.{0,2}|.*[/\ud800-\udfff].*", re.DOTALL)


def job_path(job_id: str) -> str:
    """A job's. Raises `Invalid`."""
    return f"/v1/jobs/{segment(job_id, 'job_id')}"


def run_path(run_id: str) -> str:
    """A run's. Raises `Invalid`."""
    return f"/v1/runs/{segment(run_id, 'run_id')}"


def segment(name: str, kind: str) -> str:
    """A name as one segment of a path. Raises `Invalid` for one that would lead elsewhere, such as
    `a/b` and `..`: nothing is named so. kind: of name, for the message."""
    if _ELSEWHERE.fullmatch(name):
        detail = f"{kind} {name[:80]!r}: nothing can be named so"
        raise Invalid(
            ProblemDetails(
                type="/problems/invalid-request",
                title="Request is not valid",
                status=422,
                detail=detail,
            )
        )
    return quote(name, safe="")
