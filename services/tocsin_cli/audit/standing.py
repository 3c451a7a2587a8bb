"""Definitions that were accepted before the oldest event that is left.

The jobs topic holds the last record of each key, and the scheduler sees to it that this is the
accepted definition: a record that did not count is followed by one that restates what does. The
last one that the scheduler has judged therefore stands for the `accepted` event that is gone.
"""

from tocsin.broker.port import Record
from tocsin.model.events import Event
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin.wire.codec import EVENT
from tocsin.wire.commands import decode_job_command, decode_key
from tocsin.wire.headers import read_restates
from tocsin.wire.schedules import schedule_text


def standing_event(record: Record, judged: int) -> tuple[str, bytes] | None:
    """(job key, `accepted` event) of a record of the jobs topic, as if it had been accepted.

    None for a record at or after `judged`, the offset up to which the scheduler has read, unless
    it restates. Raises `InvalidCommand` and `HeaderError` for one that cannot be read: it stands
    for nothing.
    """
    key = decode_key(record.key)
    restates = read_restates(record.headers)
    job = None if record.value is None else decode_job_command(key, record.value)
    if restates is not None:
        event = _accepted(key, job, restates.revision, restates.timestamp)
    elif record.offset < judged:
        event = _accepted(key, job, record.offset, record.timestamp)
    else:
        return None
    return str(key), EVENT.encode(event)


def _accepted(key: JobKey, job: Job | None, revision: int, timestamp: int) -> Event:
    return Event(
        tenant=key.tenant,
        job_id=key.job_id,
        type="accepted",
        time=timestamp,
        reason="",
        revision=revision,
        schedule=None if job is None else schedule_text(job.schedule),
        status="deleted" if job is None else job.status,
        jitter_ms=None if job is None else job.jitter_ms,
        anchor=timestamp,
        max_runs=None if job is None else job.max_runs,
    )
