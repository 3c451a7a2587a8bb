"""From records of the log to facts, and what could not be read."""

from functools import lru_cache

from tocsin.broker.port import Record
from tocsin.model.events import Event
from tocsin.model.keys import InvalidKey, parse_job_key
from tocsin.model.runs import Cause
from tocsin.model.state import JobState, RunState
from tocsin.wire.codec import EVENT, JOB_STATE, RUN_STATE, WATERMARK, WireError
from tocsin.wire.commands import InvalidCommand
from tocsin.wire.headers import HeaderError
from tocsin.wire.partitions import partition_of
from tocsin.wire.prefixes import RUN_PREFIX
from tocsin_cli.audit.accounts import UNLIMITED, Fact, Kind
from tocsin_cli.audit.lateness import LatenessCounts
from tocsin_cli.audit.refusals import Refusals
from tocsin_cli.audit.spool import Spool
from tocsin_cli.audit.standing import standing_event
from tocsin_cli.marks import WATERMARK_KEY, Mark, stored_mark

OWN: frozenset[Cause] = frozenset({"schedule", "catch_up"})
"""Causes of runs that the schedule asks for; triggers and backfills owe nothing."""

_RUN_TIME = len("YYYYMMDDTHHMMSS.mmmZ")
_REASONS = {"missed": Kind.MISSED, "skipped": Kind.PASSED, "cancelled": Kind.PASSED}


class Intake:
    """Takes records in the order of the log, topic by topic."""

    def __init__(self, spool: Spool, partitions: int) -> None:
        self.marks: dict[int, Mark] = {}
        self.refusals = Refusals()
        self.lateness = LatenessCounts()
        self._spool = spool
        self._partitions = partitions

    def state(self, record: Record) -> None:
        """The newest record of a key counts; what is still open goes to the spool at the end."""
        key = record.key or b""
        try:
            if key.startswith(WATERMARK_KEY.encode()):
                if record.value is not None:
                    mark = stored_mark(WATERMARK.decode(record.value))
                    self.marks[record.partition] = mark
                return
            facts = _open_facts(key, record.value)
        except WireError as error:
            self.refusals.note(record, error)
            return
        self._spool.put_open(record.partition, key, facts)

    def state_has_ended(self) -> None:
        self._spool.close_open()

    def event(self, record: Record) -> None:
        try:
            event = EVENT.decode(record.value or b"")
        except WireError as error:
            self.refusals.note(record, error)
            return
        key = str(event.key)
        if event.type == "accepted":
            self._spool.add_event(record.partition, key, record.offset, record.value or b"")
        elif event.type in _REASONS and event.cause is None and not _was_asked_for(event):
            fact = _reason(event)
            if fact is not None:
                self._spool.add(record.partition, key, fact)

    def command(self, record: Record, judged: int) -> None:
        """A record of the jobs topic, for the jobs that were last edited before the oldest event
        that is left; `judged`: the offset up to which the scheduler has read."""
        try:
            standing = standing_event(record, judged)
        except (InvalidCommand, HeaderError) as error:
            self.refusals.note(record, error)
            return
        if standing is not None:
            key, event = standing
            self._spool.add_standing(record.partition, key, record.offset, event)

    def run(self, record: Record) -> None:
        """A first attempt at an occurrence of a schedule; others are not looked at."""
        try:
            run = RUN_PREFIX.decode(record.value or b"")
            if run.attempt != 1 or run.cause not in OWN:
                return
            key, partition = _place(run.run_id[: -_RUN_TIME - 1], self._partitions)
        except (WireError, InvalidKey) as error:
            self.refusals.note(record, error)
            return
        self._spool.add(partition, key, _one(run.scheduled_time, Kind.RUN))
        if run.cause == "schedule":
            self.lateness.add(record.timestamp - run.due_time)


def _open_facts(key: bytes, value: bytes | None) -> list[Fact]:
    """What a record of the state topic keeps for later."""
    if value is None:
        return []
    if b"#" in key:
        return _waiting(RUN_STATE.decode(value))
    return _ranges(JOB_STATE.decode(value))


def _waiting(state: RunState) -> list[Fact]:
    if state.phase != "waiting" or state.cause not in OWN:
        return []
    return [_one(state.scheduled_time, Kind.OPEN)]


def _ranges(state: JobState) -> list[Fact]:
    return [
        Fact(left.next, Kind.OPEN, left.last, UNLIMITED)
        for left in state.ranges
        if left.cause in OWN
    ]


def _reason(event: Event) -> Fact | None:
    """None for an event about the job as such."""
    kind = _REASONS[event.type]
    if event.first is not None and event.last is not None:
        return Fact(event.first, kind, event.last, event.count)
    return None if event.scheduled_time is None else _one(event.scheduled_time, kind)


def _was_asked_for(event: Event) -> bool:
    """Whether the run is a trigger's or a backfill's, whose ids end in a suffix."""
    return event.run_id is not None and not event.run_id.endswith("Z")


def _one(nominal: int, kind: Kind) -> Fact:
    return Fact(nominal, kind, nominal, 1)


@lru_cache(maxsize=65_536)
def _place(front: str, partitions: int) -> tuple[str, int]:
    """Job key and its partition, of what stands in front of the time in the id of a run that the
    schedule asks for. Raises InvalidKey."""
    tenant, _, job_id = front.partition(".")
    key = str(parse_job_key(f"{tenant}/{job_id}"))
    return key, partition_of(key.encode(), partitions)
