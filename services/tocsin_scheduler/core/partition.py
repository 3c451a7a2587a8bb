"""One partition: records in, time on, records and changes out.

A transaction goes through three steps, of which the shell does the second:

    begin ─► apply…, advance ─► prepared ─(produce, offsets, commit)─► post
                   │                └────────(anything failed)───────► drop
                   └────────────────(nothing has changed)────────────► leave

After a drop the partition is as it was after the last post, its store too: the sources are read
again from `offsets` on.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple, Protocol

from tocsin.model.keys import InvalidKey, JobKey, parse_job_key
from tocsin.model.run_rules import outcome_problem
from tocsin.model.runs import Outcome
from tocsin.wire.codec import OUTCOME, WireError
from tocsin.wire.commands import InvalidCommand, decode_signal
from tocsin.wire.headers import Headers
from tocsin.wire.job_records import read_job_record
from tocsin_scheduler.core.assembly import assemble
from tocsin_scheduler.core.book import Tally
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.outcomes import LAST_WORDS
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.place import NOWHERE, instant_of
from tocsin_scheduler.core.store import Store
from tocsin_scheduler.core.turn import Budget, Problem, Turn

SIGNAL_PATIENCE_MS = 10_000
"""How long a signal waits for another topic before it is taken for a mistake."""


class Source(StrEnum):
    """The topics that a scheduler consumes."""

    JOBS = "jobs"
    SIGNALS = "signals"
    OUTCOMES = "outcomes"


class InRecord(Protocol):
    """A record as the log gives it."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Headers: ...


class Offsets(NamedTuple):
    """Next offset to read of each source: all records below are applied."""

    jobs: int = 0
    signals: int = 0
    outcomes: int = 0


NO_OFFSETS = Offsets()


class Progress(NamedTuple):
    """next_wake: when something is due by itself, epoch milliseconds; None = nothing.

    more: the budget ended before the work did. needs_outcomes: something waits until outcomes
    have been read to an end asked for later than now.
    """

    next_wake: int | None
    more: bool
    needs_outcomes: bool


class _Waiting(NamedTuple):
    record: InRecord
    key: bytes


class Partition:
    """The state machine of one partition. `place` is the watermark W."""

    def __init__(
        self,
        store: Store,
        config: CoreConfig,
        place: bytes = NOWHERE,
        offsets: Offsets = NO_OFFSETS,
    ) -> None:
        self.place = place
        self._read_to = _by_source(offsets)
        self._store = store
        self._config = config
        self._parts = assemble(store, config)
        self._held_signals: deque[_Waiting] = deque()
        self._parked: deque[_Waiting] = deque()
        self._remembers = True
        self._resume_at = self._offsets_before = offsets
        self._turn: Turn | None = None

    @property
    def offsets(self) -> Offsets:
        """Up to where the sources have been read."""
        return Offsets(*self._read_to.values())

    @property
    def turn(self) -> Turn:
        """The open transaction's work."""
        assert self._turn is not None, "begin() comes first"
        return self._turn

    @property
    def tally(self) -> Tally:
        """How many jobs and unfinished runs there are."""
        return self._parts.book.tally

    # the three steps

    def begin(self, now: int, outcomes_read: int, budget: Budget) -> None:
        """`now` never lies before the instant of the watermark: time does not go back here."""
        now = max(now, instant_of(self.place))
        self._turn = Turn(now, outcomes_read, self.place, budget)
        self._parts.book.budget = budget
        self._offsets_before = self.offsets

    def prepared(self) -> list[Outgoing]:
        """What the transaction writes: runs, events, commands, then the changelog."""
        topic, partition = self._config.topics.state, self._config.partition
        changes = self._parts.book.changelog.items()
        return self.turn.out + [Outgoing(topic, key, value, partition) for key, value in changes]

    @property
    def committing(self) -> Offsets:
        """The offsets that go with the transaction: before what still waits in memory."""
        signals, outcomes = self.offsets.signals, self.offsets.outcomes
        if self._held_signals:
            signals = self._held_signals[0].record.offset
        if self._parked:
            outcomes = self._parked[0].record.offset
        return Offsets(self.offsets.jobs, signals, outcomes)

    @property
    def has_changed(self) -> bool:
        """Whether the open turn has more to commit than that time has passed."""
        book = self._parts.book
        read_on = self.offsets != self._offsets_before
        return bool(read_on or self.turn.out or book.changelog or book.overlay.size)

    def leave(self) -> None:
        """End a turn that has changed nothing; `place` stays."""
        self._turn = None

    def post(self, checkpoint: Mapping[bytes, bytes | None]) -> None:
        """The transaction has committed: one batch of all changes and the checkpoint."""
        self._store.write({**self._parts.book.changes, **checkpoint})
        self.place = self.turn.place
        self._resume_at = self.committing
        self._parts.book.committed()
        self._turn = None

    def drop(self) -> None:
        """The transaction has failed: back to the last post, `offsets` too."""
        self._parts.book.reset()
        self._held_signals.clear()
        self._parked.clear()
        self._read_to = _by_source(self._resume_at)
        self._turn = None

    # records

    def apply(self, source: Source, record: InRecord) -> None:
        """One record; offsets ascend within a source. Never raises for what a record contains."""
        self._read_to[source] = record.offset + 1
        key = self._key(source, record)
        if key is None:
            return
        if source is Source.JOBS:
            self._apply_job(key, record)
            self._apply_held_signals()
        elif source is Source.SIGNALS:
            self._apply_signal(str(key).encode(), record)
        else:
            self._apply_outcome(str(key).encode(), record)

    def advance(self) -> Progress:
        """Let the turn's time come: what is due on schedule, timers, then backlogs."""
        turn = self.turn
        self._apply_held_signals()
        more = self._parts.due_loop.advance(turn)
        more = self._parts.timers.advance(turn) or more
        more = self._parts.ranges.advance(turn) or more
        self._parts.book.forget_ended(turn.now, limit=1_000)
        self._parts.book.emitted.forget(turn.now, limit=1_000)
        wake = turn.now if more else self._next_wake()
        return Progress(wake, more, turn.needs_outcomes)

    def _next_wake(self) -> int | None:
        book = self._parts.book
        entry = next(book.due_between(self.turn.place, b"\xff"), None)
        timer = book.timers.next()
        instants = [timer] if entry is None else [timer, instant_of(entry[0])]
        return min((instant for instant in instants if instant is not None), default=None)

    def _key(self, source: Source, record: InRecord) -> JobKey | None:
        try:
            return parse_job_key((record.key or b"").decode())
        except (InvalidKey, UnicodeDecodeError) as error:
            self._problem(source, record, f"record key: {error}")
            return None

    def _apply_job(self, key: JobKey, record: InRecord) -> None:
        judged = read_job_record(
            key,
            record.value,
            record.headers,
            record.offset,
            record.timestamp,
            partition=self._config.partition,
            partitions=self._config.partitions,
        )
        if judged.problem is not None:
            self._problem(Source.JOBS, record, judged.problem)
        self._parts.definitions.apply(self.turn, key, judged, record.value)

    # signals

    def _apply_signal(self, key: bytes, record: InRecord) -> None:
        self._held_signals.append(_Waiting(record, key))
        self._apply_held_signals()

    def _apply_held_signals(self) -> None:
        """In order: one that waits for a command holds those behind it."""
        while self._held_signals and self._is_settled(*self._held_signals[0]):
            self._held_signals.popleft()

    def _is_settled(self, record: InRecord, key: bytes) -> bool:
        """Apply or refuse a signal; False where it has to wait for another topic."""
        signals = self._parts.signals
        try:
            signal = decode_signal(record.value or b"")
        except InvalidCommand as error:
            self._problem(Source.SIGNALS, record, str(error))
            signals.refuse(self.turn, key, str(error))
            return True
        patient = self.turn.now - record.timestamp <= SIGNAL_PATIENCE_MS
        if patient and signals.is_early(self.turn, key, signal, record.timestamp):
            return False
        if signal.assumes is None or signal.assumes < self.offsets.jobs:
            signals.apply(self.turn, key, signal, record.timestamp)
            return True
        if patient:
            return False
        reason = f"it assumes offset {signal.assumes} of the jobs topic, which is not there"
        signals.reject(self.turn, key, signal, reason)
        return True

    # outcomes

    def _apply_outcome(self, key: bytes, record: InRecord) -> None:
        try:
            outcome = OUTCOME.decode(record.value or b"")
        except WireError as error:
            self._problem(Source.OUTCOMES, record, str(error))
            return
        problem = outcome_problem(outcome)
        if problem is None and str(outcome.key).encode() != key:
            problem = f"the outcome is of {outcome.key}, not its key"
        if problem is not None:
            self._problem(Source.OUTCOMES, record, problem)
            return
        self.turn.workers.note(outcome)
        if not self._remembers and self._parts.outcomes.needs_memory(key, outcome):
            self._parked.append(_Waiting(record, key))
        else:
            self._parts.outcomes.apply(self.turn, key, outcome, record.timestamp)

    def forget(self) -> None:
        """A new owner: which runs have ended lately is not known until `remembered`."""
        self._remembers = False

    def start_leases(self, now: int) -> None:
        """A new owner has not seen the heartbeats: each lease begins anew."""
        self._parts.timers.leases_from = now

    def remember(self, records: Iterable[InRecord]) -> None:
        """Outcomes below the committed offset, read again; writes to the store at once."""
        book = self._parts.book
        for record in records:
            outcome = _outcome(record)
            if outcome is not None and outcome.kind in LAST_WORDS:
                book.note_ended(outcome.run_id, record.timestamp)

    def remembered(self) -> None:
        """All of them have been read: what waited for it is applied, in the open turn."""
        self._remembers = True
        while self._parked:
            record, key = self._parked.popleft()
            outcome = OUTCOME.decode(record.value or b"")
            self._parts.outcomes.apply(self.turn, key, outcome, record.timestamp)

    def _problem(self, source: Source, record: InRecord, reason: str) -> None:
        self.turn.problems.append(Problem(source.value, record.offset, reason))


def _outcome(record: InRecord) -> Outcome | None:
    try:
        return OUTCOME.decode(record.value or b"")
    except WireError:
        return None


def _by_source(offsets: Offsets) -> dict[Source, int]:
    """In the order of the fields."""
    return {source: getattr(offsets, source.value) for source in Source}
