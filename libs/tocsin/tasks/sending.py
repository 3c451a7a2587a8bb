"""Jobs that run tasks, sent by the client of the gateway."""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import NamedTuple
from uuid import uuid4

from tocsin import clock
from tocsin.client import Client, Job
from tocsin.model.keys import run_id
from tocsin.timetable.instants import format_instant, to_ms

_NOT_IN_JOB_ID = re.compile(r"[^A-Za-z0-9._-]+", re.ASCII)
_LONGEST_NAME = 150


class Enqueued(NamedTuple):
    """A run to come: `Client.wait_for_run(run_id)` waits for it."""

    job_id: str
    run_id: str


def put(
    client: Client | None,
    job_id: str,
    job: Mapping[str, object],
    schedule: Mapping[str, object],
    payload: object,
) -> Job:
    """See `Task.schedule`."""
    return (client or _client()).put(job_id, job, schedule=schedule, payload=payload)


def enqueue(
    client: Client | None,
    name: str,
    job: Mapping[str, object],
    payload: object,
    delay_ms: int,
    at: datetime | None,
) -> Enqueued:
    """See `Task.enqueue`. Its job has an id that no other has, so that a call without an answer
    can be tried again."""
    due = clock.now_ms() + delay_ms if at is None else to_ms(at)
    short = _NOT_IN_JOB_ID.sub("-", name)[:_LONGEST_NAME].lstrip("._-")
    job_id = f"{short or 'task'}-{uuid4().hex}"
    made = put(client, job_id, job, {"at": format_instant(due)}, payload)
    return Enqueued(made.job_id, run_id(made.tenant, made.job_id, due))


@cache
def _client() -> Client:
    """By the environment; one for the whole process."""
    return Client()
