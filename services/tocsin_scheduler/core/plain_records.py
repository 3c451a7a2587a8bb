"""Records of the jobs topic as most of them are: a whole definition in Avro, or a tombstone.

Below the cut they are taken as they come, and no more is read of them than what says when the job
is due. What else is wrong with one was said when it was judged, and a restatement follows.
"""

from typing import NamedTuple

from tocsin.model.jobs import Priority
from tocsin.timetable import InvalidSchedule, Schedule, schedule_of
from tocsin.wire.codec import WireError
from tocsin.wire.headers import HeaderError, read_restates
from tocsin.wire.prefixes import JOB_PREFIX
from tocsin_scheduler.core.partition import InRecord


class Timing(NamedTuple):
    """What the places of a definition depend on."""

    schedule: Schedule
    jitter_ms: int
    priority: Priority
    is_active: bool


class Plain(NamedTuple):
    """The accepted record that this is or repeats; timing: None = a tombstone. through: the offset
    up to which a restatement has judged, else None."""

    revision: int
    timestamp: int
    timing: Timing | None
    through: int | None


def read_plain(record: InRecord) -> Plain | None:
    """None where it has to be judged as a whole."""
    try:
        restates = read_restates(record.headers) if record.headers else None
        timing = None if record.value is None else read_timing(record.key or b"", record.value)
    except (HeaderError, WireError, InvalidSchedule):
        return None
    if restates is None:
        return Plain(record.offset, record.timestamp, timing, None)
    return Plain(restates.revision, restates.timestamp, timing, restates.through)


def read_timing(key: bytes, value: bytes) -> Timing:
    """Of a definition of the job with that key. Raises `WireError` where it is another's or
    something is left for the fold to fill in, `InvalidSchedule`."""
    prefix = JOB_PREFIX.decode(value)
    if not prefix.is_whole or f"{prefix.tenant}/{prefix.job_id}".encode() != key:
        raise WireError("the definition is not whole, or of another job")
    is_active = prefix.status == "active"
    return Timing(schedule_of(prefix.schedule), prefix.jitter_ms, prefix.priority, is_active)
