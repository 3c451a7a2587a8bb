"""Calls about backfills, many jobs or runs at once, the end of runs, and tokens."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal

from tocsin.client import models
from tocsin.client.calls import Call, Nothing
from tocsin.client.definitions import to_json, to_object
from tocsin.client.paths import job_path, run_path, segment
from tocsin.model.access import Role
from tocsin.model.jobs import Overlap
from tocsin.model.strict_json import JsonObject

JobAction = Literal["pause", "resume", "delete"]
RunAction = Literal["cancel", "redrive"]

_UNSET: Final = object()
_MANY_S: Final = 120.0
"""How long the gateway may take for a slice of a bulk command: it ends one after 20 seconds."""


def backfill(
    job_id: str, start: datetime, end: datetime, *, overlap: Overlap | None = None
) -> Call[models.Backfill]:
    """Run each slot of the job in [start, end), also those that ran before."""
    body: JsonObject = {"from": to_json(start), "to": to_json(end)}
    body |= {} if overlap is None else {"overlap": overlap}
    path = f"{job_path(job_id)}/backfills"
    return Call(method="POST", path=path, kind=models.Backfill, body=body, repeatable=False)


def backfills(job_id: str) -> Call[models.Page[models.Backfill]]:
    """The newest backfills of a job, with their progress."""
    path = f"{job_path(job_id)}/backfills"
    return Call(method="GET", path=path, kind=models.Page[models.Backfill])


def cancel_backfill(backfill_id: str) -> Call[models.Backfill]:
    """Run none of the slots that are left. Raises `Conflict` where it has ended."""
    path = f"/v1/backfills/{segment(backfill_id, 'backfill_id')}/cancel"
    return Call(method="POST", path=path, kind=models.Backfill, repeatable=False)


def redrive(run_id: str) -> Call[models.Run]:
    """Run a dead run again; its row. Raises `Conflict` where it is not dead."""
    path = f"{run_path(run_id)}/redrive"
    return Call(method="POST", path=path, kind=models.Run, repeatable=False)


def complete(
    run_id: str,
    *,
    result: object = _UNSET,
    error: str | None = None,
    permanent: bool = False,
    attempt: int | None = None,
) -> Call[models.Run]:
    """End a run that its handler left open: as a success with its result, or as a failure where
    `error` says why; `permanent`: another attempt cannot help."""
    body: JsonObject = {"succeeded": error is None}
    body |= {} if attempt is None else {"attempt": attempt}
    if result is not _UNSET:
        body["result"] = to_json(result, ("result",))
    if error is not None:
        body["error"] = {"code": "exception", "message": error, "permanent": permanent}
    path = f"{run_path(run_id)}/complete"
    return Call(method="POST", path=path, kind=models.Run, body=body, repeatable=False)


def bulk_jobs(
    action: JobAction,
    matching: Mapping[str, object],
    *,
    expect: int | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[models.Bulk]:
    """Pause, resume or delete all jobs that match (tag, status, owner, q).

    expect: how many they are, else `Conflict`; None = only count. limit: deal with so many of them,
    in any case with as many as 20 seconds are enough for; the answer's `next_cursor` as `cursor`
    and its `left` as `expect` go on behind those. Where it ends early, what it did stays done:
    `Unavailable.done`, as far as that is known; it is not tried again, since then another number
    would match.
    """
    return _bulk("jobs", action, matching, {"expect": expect, "limit": limit, "cursor": cursor})


def bulk_runs(
    action: RunAction,
    matching: Mapping[str, object],
    *,
    expect: int | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[models.Bulk]:
    """Cancel all unfinished runs that match (job_id, status, tag, handler, since, until), or
    redrive all dead ones. expect, limit, cursor: as for `bulk_jobs`."""
    return _bulk("runs", action, matching, {"expect": expect, "limit": limit, "cursor": cursor})


def tokens() -> Call[models.Page[models.Token]]:
    """All tokens that the caller may see, without their secrets."""
    return Call(method="GET", path="/v1/tokens", kind=models.Page[models.Token])


def create_token(
    name: str,
    role: Role,
    *,
    all_tenants: bool = False,
    expires_time: datetime | None = None,
) -> Call[models.NewToken]:
    """Make a token for the client's tenant or for all; its secret is in the answer, once. A call
    that got no answer is not tried again: the token may exist, and another call be refused."""
    body: JsonObject = {"name": name, "role": role}
    body |= {"tenant": None} if all_tenants else {}
    body |= {} if expires_time is None else {"expires_time": to_json(expires_time)}
    return Call(
        method="POST",
        path="/v1/tokens",
        kind=models.NewToken,
        body=body,
        repeatable=False,
        is_kept=False,
    )


def revoke_token(name: str) -> Call[Nothing]:
    """Let a token be good no more. Raises `NotFound`."""
    return Call(method="DELETE", path=f"/v1/tokens/{segment(name, 'token')}", kind=Nothing)


def _bulk(
    what: str, action: str, matching: Mapping[str, object], part: Mapping[str, int | str | None]
) -> Call[models.Bulk]:
    body: JsonObject = {"action": action, "filter": to_object(matching)}
    body |= {name: value for name, value in part.items() if value is not None}
    return Call(
        method="POST",
        path=f"/v1/{what}:bulk",
        kind=models.Bulk,
        body=body,
        repeatable=part["expect"] is None,
        is_kept=False,
        timeout=_MANY_S,
    )
