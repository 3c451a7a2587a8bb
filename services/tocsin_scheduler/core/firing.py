"""What the scheduler needs of a definition each time that one of its occurrences is due."""

from functools import lru_cache

import msgspec

from tocsin.model.jobs import CatchUpPolicy, Job, Overlap, Priority
from tocsin.timetable import Schedule, ScheduleFields, jitter_offset_ms, schedule_of
from tocsin.wire.run_bytes import run_tail

NEVER_LATE = 1 << 62

_REMEMBERED = 8_192
"""Schedules that are kept at hand. Many jobs share few cron expressions; intervals and one-offs,
which are each one's own, would only fill the memory."""


class Firing(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A definition as the firing loop reads it; kept beside the definition in the local store.

    late_after_ms: an occurrence later than this is a backlog. tail: the second half of its runs.
    """

    schedule: bytes
    priority: Priority
    overlap: Overlap
    pool: str
    revision: int
    jitter_ms: int
    offset_ms: int
    late_after_ms: int
    catch_up: CatchUpPolicy
    window_ms: int | None
    queue_timeout_ms: int
    max_runs: int | None
    tail: bytes
    keep_completed_ms: int = 0

    def encode(self) -> bytes:
        return _ENCODER.encode(self)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Firing)
_FIELDS = msgspec.msgpack.Decoder(ScheduleFields)


def firing_of(job: Job, revision: int) -> Firing:
    """The firing entry of an accepted definition."""
    window = job.catch_up.window_ms
    return Firing(
        schedule=_ENCODER.encode(job.schedule),
        priority=job.priority,
        overlap=job.overlap,
        pool=job.pool,
        revision=revision,
        jitter_ms=job.jitter_ms,
        offset_ms=jitter_offset_ms(str(job.key), job.jitter_ms),
        late_after_ms=min(job.catch_up.after_ms, NEVER_LATE if window is None else window),
        catch_up=job.catch_up.policy,
        window_ms=window,
        queue_timeout_ms=job.queue_timeout_ms,
        max_runs=job.max_runs,
        tail=run_tail(job, revision),
        keep_completed_ms=job.keep_completed_ms,
    )


def decode_firing(data: bytes) -> Firing:
    return _DECODER.decode(data)


@lru_cache(maxsize=_REMEMBERED)
def schedule_from(data: bytes) -> Schedule:
    """The schedule of an entry; entries of one schedule share the object and its memo."""
    return schedule_of(_FIELDS.decode(data))
