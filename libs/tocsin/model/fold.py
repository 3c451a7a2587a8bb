"""The fold of the jobs topic: what is accepted of each job, as a pure function every reader shares.

The revision of a job is the offset of its accepted record. A record whose condition does not
hold at its place in the log, whose value is invalid, or that equals what is accepted is *void*.
Compaction keeps only the last record of a key, so a void record must not stay the last: the
scheduler *restates* the accepted definition in the transaction that judges it. A restatement says
which record it repeats and through which offset it has judged.

    record of a key ──► void ──────────────► the scheduler restates what is held
          │                                            │
          └──► accepted (revision = its offset)        └──► taken by every reader that has not
               restated too where its bytes are not         accepted a record after `through`
               the definition whole, in Avro

Reading a log of which the beginning may have been compacted ("cold"): records below the cut, an
offset that the scheduler has committed, are folded with `trusting=True`; then the restatements
at or after the cut whose `through` lies below it, up to an end asked for after the cut was read.
What is held then is what the scheduler held at the cut: each void record below the cut was
restated in the very transaction that committed the offset behind it. From the cut on the records
are judged as they come.
"""

from typing import Literal

import msgspec

from tocsin.model.jobs import Job
from tocsin.model.values import Value
from tocsin.timetable import ScheduleFields

Condition = int | Literal["none"] | None
Verdict = Literal["accepted", "unchanged", "conflict", "invalid", "restated", "overtaken"]

VOID: frozenset[Verdict] = frozenset({"unchanged", "conflict", "invalid", "overtaken"})


class Restates(Value, frozen=True):
    """What a restatement repeats: revision and log timestamp of the accepted record.

    through: offset of the record that was judged.
    """

    revision: int
    timestamp: int
    through: int


class JobRecord(Value, frozen=True):
    """A record of the jobs topic, decoded.

    job: None = tombstone. problem: why the value is none; then `job` means nothing. canonical:
    the bytes are the definition whole, in Avro, as they would be written again.
    """

    offset: int
    timestamp: int
    job: Job | None = None
    problem: str | None = None
    condition: Condition = None
    restates: Restates | None = None
    canonical: bool = True


class Held(Value, frozen=True):
    """What a reader holds of a key. `job` None = deleted, kept for the compaction lag."""

    revision: int
    timestamp: int
    job: Job | None
    created_revision: int
    created_time: int

    @property
    def exists(self) -> bool:
        return self.job is not None


class Judgement(Value, frozen=True):
    """What a record changes.

    held: what is held after it. restate: the scheduler has to restate `held` through this
    record's offset; a reader that is no scheduler ignores it. reason: a sentence for a person.
    """

    held: Held | None
    verdict: Verdict
    restate: bool = False
    reason: str = ""


def judge(
    held: Held | None, record: JobRecord, *, compaction_lag_ms: int, trusting: bool = False
) -> Judgement:
    """Fold one record into what is held of its key.

    trusting: the reader is below its cut and takes each record that decodes, whatever its
    condition; where that is wrong a restatement follows.
    """
    held = remembered(held, record.timestamp, compaction_lag_ms)
    if record.restates is not None:
        return _judge_restatement(held, record, record.restates, trusting=trusting)
    if record.problem is not None:
        return Judgement(held=held, verdict="invalid", restate=True, reason=record.problem)
    if held is not None and not trusting:
        conflict = _conflict(held, record.condition)
        if conflict:
            return Judgement(held=held, verdict="conflict", restate=True, reason=conflict)
    job = completed(record.job, held, record.timestamp)
    if held is not None and job == held.job and not trusting:
        return Judgement(held=held, verdict="unchanged", restate=True)
    canonical = record.canonical and job == record.job
    return Judgement(held=_accept(held, record, job), verdict="accepted", restate=not canonical)


def remembered(held: Held | None, timestamp: int, compaction_lag_ms: int) -> Held | None:
    """A tombstone keeps its revision for the compaction lag, by log timestamps."""
    if held is not None and held.job is None and timestamp - held.timestamp > compaction_lag_ms:
        return None
    return held


def restatement(held: Held | None, record: JobRecord) -> Restates:
    """The header of the restatement that follows `record`.

    Where nothing is held it stands for a tombstone at the place of the void record itself.
    """
    if held is None:
        return Restates(revision=record.offset, timestamp=record.timestamp, through=record.offset)
    return Restates(revision=held.revision, timestamp=held.timestamp, through=record.offset)


def completed(job: Job | None, held: Held | None, timestamp: int) -> Job | None:
    """The definition that a command means: what it leaves out is kept from what is stored.

    `status` and `status_note` stay (a new job is active); `every` without `start` keeps the
    stored anchor while the interval is the same, else it is anchored at the log timestamp.
    """
    if job is None:
        return None
    stored = held.job if held is not None else None
    if job.status is None:
        job = msgspec.structs.replace(
            job,
            status="active" if stored is None else stored.status,
            status_note=job.status_note or (None if stored is None else stored.status_note),
        )
    schedule = job.schedule
    if schedule.every_ms is not None and schedule.start is None:
        start = _anchor(schedule, stored, timestamp)
        job = msgspec.structs.replace(job, schedule=schedule.with_start(start))
    return job


def _anchor(schedule: ScheduleFields, stored: Job | None, timestamp: int) -> int:
    """Inside the window, as a start has to be: where that has ended no occurrence is left."""
    anchor = timestamp
    if stored is not None and stored.schedule.every_ms == schedule.every_ms:
        anchor = stored.schedule.start or timestamp
    return anchor if schedule.end is None else min(anchor, schedule.end - 1)


def _judge_restatement(
    held: Held | None, record: JobRecord, restates: Restates, *, trusting: bool
) -> Judgement:
    """What is held already needs no second look, unless it was taken on trust."""
    if held is not None and held.revision == restates.revision and not trusting:
        return Judgement(held=held, verdict="restated")
    if record.problem is not None:
        return Judgement(held=held, verdict="invalid", restate=True, reason=record.problem)
    if held is not None and held.revision > restates.through:
        return Judgement(held=held, verdict="overtaken", restate=True)
    taken = Held(
        revision=restates.revision,
        timestamp=restates.timestamp,
        job=record.job,
        created_revision=restates.revision,
        created_time=restates.timestamp,
    )
    return Judgement(held=taken, verdict="restated")


def _conflict(held: Held, condition: Condition) -> str:
    if condition is None:
        return ""
    if condition == "none":
        return f"the job exists, at revision {held.revision}" if held.exists else ""
    if condition != held.revision:
        return f"the command is for revision {condition}, accepted is {held.revision}"
    return ""


def _accept(held: Held | None, record: JobRecord, job: Job | None) -> Held:
    goes_on = held is not None and held.exists
    return Held(
        revision=record.offset,
        timestamp=record.timestamp,
        job=job,
        created_revision=held.created_revision if held and goes_on else record.offset,
        created_time=held.created_time if held and goes_on else record.timestamp,
    )
