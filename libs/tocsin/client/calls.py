"""What each method of the clients asks of the gateway: one request, or a list of pages.

Nothing here sends: `Client` and `AsyncClient` have the same methods because both are made of these.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Generic, TypeVar

import msgspec

from tocsin.client import models
from tocsin.client.definitions import to_json, to_object
from tocsin.client.paths import job_path, run_path
from tocsin.model.jobs import Overlap
from tocsin.model.runs import RunStatus
from tocsin.model.strict_json import JsonObject
from tocsin.timetable.instants import format_instant, to_ms

T = TypeVar("T")
Query = Mapping[str, str | int | list[str] | None]

_JSON: Final = "application/json"
_MERGE_PATCH: Final = "application/merge-patch+json"
_UNSET: Final = object()


class Call(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """One request, and what its answer is read as (None: it has no body that matters).

    repeatable: it may stand twice; anything else is sent with an idempotency key, or where the
    gateway keeps no answer to it (`is_kept`) once only, unless it certainly had no effect. timeout:
    seconds that the answer may take, where that is not the client's.
    """

    method: str
    path: str
    kind: type[T]
    query: Query = {}
    body: JsonObject | None = None
    media_type: str = _JSON
    headers: Mapping[str, str] = {}
    repeatable: bool = True
    is_kept: bool = True
    timeout: float | None = None


class Nothing(models.Answer, frozen=True):
    """What is read of an answer that says no more than that it is done."""


class Listing(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """Items that come page by page."""

    path: str
    kind: type[T]
    query: Query

    def page(self, cursor: str | None) -> Call[models.Page[T]]:
        """The page behind the cursor."""
        kind: type[models.Page[T]] = models.Page[self.kind]  # type: ignore[name-defined]
        return Call(method="GET", path=self.path, kind=kind, query={**self.query, "cursor": cursor})


def put(
    job_id: str,
    definition: Mapping[str, object] | None = None,
    *,
    if_revision: int | None = None,
    if_absent: bool = False,
    dry_run: bool = False,
    **fields: object,
) -> Call[models.Job]:
    """Create the job, or replace it. The definition is a mapping, keyword arguments, or both.

    if_revision, if_absent: only where the job is at that revision, only where it does not exist,
    else `Conflict`. dry_run: check, and write nothing.
    """
    headers = _condition(if_revision, if_absent=if_absent)
    return Call(
        method="PUT",
        path=job_path(job_id),
        kind=models.Job,
        query={"dry_run": "true" if dry_run else None},
        body=to_object({**(definition or {}), **fields}),
        headers=headers,
        repeatable=not headers,
    )


def create(definition: Mapping[str, object] | None = None, **fields: object) -> Call[models.Job]:
    """Create a job that must not exist; without `job_id` it gets one."""
    body = to_object({**(definition or {}), **fields})
    return Call(method="POST", path="/v1/jobs", kind=models.Job, body=body, repeatable=False)


def patch(
    job_id: str,
    changes: Mapping[str, object] | None = None,
    *,
    if_revision: int | None = None,
    **fields: object,
) -> Call[models.Job]:
    """Change some fields (RFC 7396: None removes one)."""
    headers = _condition(if_revision)
    return Call(
        method="PATCH",
        path=job_path(job_id),
        kind=models.Job,
        body=to_object({**(changes or {}), **fields}),
        media_type=_MERGE_PATCH,
        headers=headers,
        repeatable=not headers,
    )


def get(job_id: str) -> Call[models.Job]:
    """The job; raises `NotFound`."""
    return Call(method="GET", path=job_path(job_id), kind=models.Job)


def jobs(
    *,
    tags: Mapping[str, str | None] | None = None,
    status: models.Phase | None = None,
    owner: str | None = None,
    text: str | None = None,
    sort: str | None = None,
    page_size: int = 100,
) -> Listing[models.Job]:
    """All jobs that fit, page by page as they are asked for. A tag's value None = any."""
    query: Query = {
        "tag": _tags(tags),
        "status": status,
        "owner": owner,
        "q": text,
        "sort": sort,
        "limit": page_size,
    }
    return Listing(path="/v1/jobs", kind=models.Job, query=query)


def delete(job_id: str, *, if_revision: int | None = None) -> Call[Nothing]:
    """Delete the job; started runs end by themselves. Raises `NotFound`."""
    headers = _condition(if_revision)
    return Call(
        method="DELETE",
        path=job_path(job_id),
        kind=Nothing,
        headers=headers,
        repeatable=not headers,
    )


def pause(job_id: str, note: str | None = None) -> Call[models.Job]:
    """No occurrence runs until `resume`; what runs goes on."""
    body: JsonObject = {} if note is None else {"note": note}
    return Call(method="POST", path=f"{job_path(job_id)}/pause", kind=models.Job, body=body)


def resume(job_id: str) -> Call[models.Job]:
    """Go on with the next occurrence."""
    return Call(method="POST", path=f"{job_path(job_id)}/resume", kind=models.Job)


def trigger(
    job_id: str, *, payload: object = _UNSET, overlap: Overlap | None = None
) -> Call[models.Run]:
    """Run the job now, also while it is paused; the run may have been skipped.

    payload: in place of the job's own; None is JSON's null.
    """
    body: JsonObject = {} if overlap is None else {"overlap": overlap}
    if payload is not _UNSET:
        body["payload"] = to_json(payload, ("payload",))
    path = f"{job_path(job_id)}/trigger"
    return Call(method="POST", path=path, kind=models.Run, body=body, repeatable=False)


def runs(
    job_id: str | None = None,
    *,
    status: RunStatus | Sequence[RunStatus] = (),
    tags: Mapping[str, str | None] | None = None,
    handler: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    page_size: int = 100,
) -> Listing[models.Run]:
    """Runs of a job or of the tenant, newest first, page by page as they are asked for.

    since <= scheduled time < until.
    """
    query: Query = {
        "status": [status] if isinstance(status, str) else list(status),
        "job_id": job_id,
        "tag": _tags(tags),
        "handler": handler,
        "since": _instant(since),
        "until": _instant(until),
        "limit": page_size,
    }
    return Listing(path="/v1/runs", kind=models.Run, query=query)


def run(run_id: str) -> Call[models.RunDetail]:
    """One run with its attempts and events; raises `NotFound`."""
    return Call(method="GET", path=run_path(run_id), kind=models.RunDetail)


def cancel(run_id: str) -> Call[models.Run]:
    """Stop a run; its row as it stands now. Raises `Conflict` where it has ended."""
    return Call(method="POST", path=f"{run_path(run_id)}/cancel", kind=models.Run)


def stats(job_id: str | None = None, *, since: datetime | None = None) -> Call[models.Statistics]:
    """What became of the occurrences of a job, or of all, since a time (by default a day ago)."""
    path = "/v1/stats" if job_id is None else f"{job_path(job_id)}/stats"
    query: Query = {"since": _instant(since)}
    return Call(method="GET", path=path, kind=models.Statistics, query=query)


def preview(job_id: str, n: int = 5) -> Call[models.Preview]:
    """The next n scheduled times of a job."""
    return Call(
        method="GET", path=f"{job_path(job_id)}/preview", kind=models.Preview, query={"n": n}
    )


def preview_schedule(
    schedule: Mapping[str, object], n: int = 5, after: datetime | None = None
) -> Call[models.Preview]:
    """What a schedule means, and its next n occurrences after a time (now)."""
    body = to_object({"schedule": schedule, "n": n})
    if after is not None:
        body["after"] = to_json(after)
    return Call(method="POST", path="/v1/schedules:preview", kind=models.Preview, body=body)


def _instant(at: datetime | None) -> str | None:
    return None if at is None else format_instant(to_ms(at))


def _condition(if_revision: int | None, *, if_absent: bool = False) -> dict[str, str]:
    if if_revision is not None and if_absent:
        raise ValueError("give one of if_revision and if_absent")
    if if_absent:
        return {"If-None-Match": "*"}
    return {} if if_revision is None else {"If-Match": f'"{if_revision}"'}


def _tags(tags: Mapping[str, str | None] | None) -> list[str]:
    return [name if value is None else f"{name}:{value}" for name, value in (tags or {}).items()]
