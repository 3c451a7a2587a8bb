"""The OpenAPI document: what each operation takes and answers.

The handlers read bodies and queries themselves, strictly; here stands what they read.
"""

from functools import lru_cache
from typing import Any

import yaml

from tocsin.model.access import Role
from tocsin_gateway.resources import read_resource

Operation = dict[str, Any]


@lru_cache(maxsize=1)
def components() -> dict[str, Any]:
    """Schemas, parameters, headers and responses that operations refer to."""
    loaded: dict[str, Any] = yaml.safe_load(read_resource("openapi.yaml"))
    return loaded


def _ref(group: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{group}/{name}"}


def _operation(
    operation_id: str,
    answers: dict[int, str],
    problems: tuple[int, ...],
    *,
    parameters: tuple[str, ...] = (),
    body: dict[str, str] | None = None,
    is_body_required: bool = True,
    role: Role = "viewer",
) -> Operation:
    """`answers`: status -> schema of the body (empty: none), or a response of that name. `role`:
    who may ask for it; `api/context.py` holds callers to it."""
    responses: dict[str, Any] = {}
    for status, name in answers.items():
        is_response = name in components()["responses"]
        responses[str(status)] = _ref("responses", name) if is_response else _answer(name)
    for status in sorted({*problems, 400, 401, 403, 429, 503}):
        responses[str(status)] = _ref("responses", f"Problem{status}")
    operation: Operation = {
        "operationId": operation_id,
        "x-role": role,
        "parameters": [_ref("parameters", name) for name in ("Tenant", *parameters)],
        "responses": responses,
    }
    if body is not None:
        content = {media: {"schema": _ref("schemas", name)} for media, name in body.items()}
        operation["requestBody"] = {"required": is_body_required, "content": content}
    return operation


def _answer(schema: str) -> dict[str, Any]:
    if not schema:
        return {"description": "Done."}
    content = {"application/json": {"schema": _ref("schemas", schema)}}
    return {"description": schema, "content": content}


_JSON = "application/json"
_WRITE = (409, 412, 413, 415, 422)
_COMMAND = (404, 409, 413, 415, 422)
_ONCE = "IdempotencyKey"
_RUN_FILTERS = ("RunStatus", "Since", "Until", "Cursor", "Limit")

LIST_JOBS = _operation(
    "listJobs",
    {200: "JobPage"},
    (422,),
    parameters=("Tag", "Phase", "Owner", "Text", "JobSort", "Cursor", "Limit"),
)
CREATE_JOB = _operation(
    "createJob",
    {201: "JobCreated"},
    (409, 413, 415, 422),
    parameters=("DryRun", _ONCE),
    body={_JSON: "Job"},
    role="editor",
)
GET_JOB = _operation(
    "getJob",
    {200: "Job", 304: ""},
    (404, 422),
    parameters=("JobId", "IfNoneMatch"),
)
PUT_JOB = _operation(
    "putJob",
    {200: "Job", 201: "JobCreated"},
    _WRITE,
    parameters=("JobId", "DryRun", "IfMatch", "IfNoneMatch", _ONCE),
    body={_JSON: "Job"},
    role="editor",
)
PATCH_JOB = _operation(
    "patchJob",
    {200: "Job"},
    (404, *_WRITE),
    parameters=("JobId", "DryRun", "IfMatch", _ONCE),
    body={"application/merge-patch+json": "JobPatch", _JSON: "JobPatch"},
    role="editor",
)
DELETE_JOB = _operation(
    "deleteJob",
    {204: ""},
    (404, 409, 412, 413, 422),
    parameters=("JobId", "IfMatch", _ONCE),
    role="editor",
)
PAUSE_JOB = _operation(
    "pauseJob",
    {200: "Job"},
    _COMMAND,
    parameters=("JobId", _ONCE),
    body={_JSON: "Pause"},
    is_body_required=False,
    role="operator",
)
RESUME_JOB = _operation(
    "resumeJob", {200: "Job"}, _COMMAND, parameters=("JobId", _ONCE), role="operator"
)
TRIGGER_JOB = _operation(
    "triggerJob",
    {202: "RunAccepted"},
    _COMMAND,
    parameters=("JobId", _ONCE),
    body={_JSON: "Trigger"},
    is_body_required=False,
    role="operator",
)
START_BACKFILL = _operation(
    "startBackfill",
    {202: "BackfillAccepted"},
    _COMMAND,
    parameters=("JobId", _ONCE),
    body={_JSON: "BackfillRequest"},
    role="operator",
)
LIST_BACKFILLS = _operation(
    "listBackfills", {200: "BackfillList"}, (404, 422), parameters=("JobId",)
)
CANCEL_BACKFILL = _operation(
    "cancelBackfill", {202: "Backfill"}, _COMMAND, parameters=("BackfillId", _ONCE), role="operator"
)
BULK_JOBS = _operation(
    "bulkJobs", {200: "Bulk"}, (409, 413, 415, 422), body={_JSON: "BulkJobs"}, role="operator"
)
BULK_RUNS = _operation(
    "bulkRuns", {200: "Bulk"}, (409, 413, 415, 422), body={_JSON: "BulkRuns"}, role="operator"
)
PREVIEW_JOB = _operation("previewJob", {200: "Preview"}, (404, 422), parameters=("JobId", "Count"))
PREVIEW_SCHEDULE = _operation(
    "previewSchedule", {200: "Preview"}, (413, 415, 422), body={_JSON: "PreviewRequest"}
)
LIST_RUNS_OF_JOB = _operation(
    "listRunsOfJob", {200: "RunPage"}, (404, 422), parameters=("JobId", *_RUN_FILTERS)
)
LIST_RUNS = _operation(
    "listRuns",
    {200: "RunPage"},
    (422,),
    parameters=("JobIdFilter", "Tag", "HandlerFilter", *_RUN_FILTERS),
)
STATS_OF_JOB = _operation(
    "getStatisticsOfJob", {200: "Statistics"}, (404, 422), parameters=("JobId", "StatsSince")
)
STATS = _operation("getStatistics", {200: "TenantStatistics"}, (422,), parameters=("StatsSince",))
STREAM_EVENTS = _operation(
    "streamEvents",
    {200: "EventStream"},
    (422,),
    parameters=("JobIdFilter", "EventType", "LastEventId"),
)
GET_RUN = _operation("getRun", {200: "RunDetail"}, (404, 422), parameters=("RunId",))
CANCEL_RUN = _operation(
    "cancelRun", {202: "Run"}, _COMMAND, parameters=("RunId", _ONCE), role="operator"
)
REDRIVE_RUN = _operation(
    "redriveRun", {202: "Run"}, _COMMAND, parameters=("RunId", _ONCE), role="operator"
)
COMPLETE_RUN = _operation(
    "completeRun",
    {200: "Run"},
    _COMMAND,
    parameters=("RunId", _ONCE),
    body={_JSON: "Completion"},
    role="operator",
)

LIST_TOKENS = _operation("listTokens", {200: "TokenList"}, (422,), role="admin")
CREATE_TOKEN = _operation(
    "createToken",
    {201: "TokenCreated"},
    (409, 413, 415, 422),
    body={_JSON: "TokenRequest"},
    role="admin",
)
REVOKE_TOKEN = _operation(
    "revokeToken", {204: ""}, (404, 422), parameters=("TokenName",), role="admin"
)
LIST_AUDIT = _operation(
    "listAudit",
    {200: "AuditPage"},
    (422,),
    parameters=("Actor", "Action", "Object", "AuditSince", "AuditUntil", "Cursor", "Limit"),
    role="admin",
)
