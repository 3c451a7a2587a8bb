"""Runs in Avro, put together from two halves.

An Avro record is the concatenation of its fields. All runs of a job share the bytes from
`max_attempts` on, so they are encoded once a definition; only the fields before are put together
for a run, of values that many runs of one instant share.
"""

import io
from typing import Any

import fastavro
import msgspec

from tocsin.model.jobs import Job
from tocsin.model.runs import Cause
from tocsin.wire.codec import RUN, read_schema
from tocsin.wire.primitives import boolean, long, sized, text

_HEAD = (
    "run_id",
    "scheduled_time",
    "due_time",
    "emitted_time",
    "expires_time",
    "attempt",
    "cause",
    "tracked",
)


def _tail_schema() -> Any:
    schema = read_schema("run")
    names = tuple(field["name"] for field in schema["fields"])
    assert names[: len(_HEAD)] == _HEAD, "what differs between the runs of a job comes first"
    fields = schema["fields"][len(_HEAD) :]
    return fastavro.parse_schema({**schema, "name": "RunTail", "fields": fields})


_TAIL = _tail_schema()


def run_tail(job: Job, revision: int) -> bytes:
    """What the runs of a definition share, encoded."""
    out = io.BytesIO()
    tail = {
        "max_attempts": job.retry.max_attempts,
        "tenant": job.tenant,
        "job_id": job.job_id,
        "revision": revision,
        "priority": job.priority,
        "pool": job.pool,
        "handler": msgspec.structs.asdict(job.handler),
        "payload": job.payload,
        "timeout_ms": job.timeout_ms,
    }
    fastavro.schemaless_writer(out, _TAIL, tail)
    return out.getvalue()


def run_value(
    run_id: str,
    scheduled_time: int,
    due_time: int,
    emitted_time: int,
    expires_time: int,
    attempt: int,
    cause: Cause,
    tracked: bool,
    tail: bytes,
) -> bytes:
    """A framed run, the same bytes as `RUN.encode` of the whole value."""
    return b"".join(
        (
            RUN.prefix,
            sized(run_id.encode()),
            long(scheduled_time),
            long(due_time),
            long(emitted_time),
            long(expires_time),
            long(attempt),
            text(cause),
            boolean(tracked),
            tail,
        )
    )
