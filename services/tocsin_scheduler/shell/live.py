"""A partition at work: the core's state machine, and what the shell knows of it."""

from tocsin.broker.port import Record, TopicPartition
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.partition import Offsets, Partition, Source
from tocsin_scheduler.core.turn import Budget, Turn
from tocsin_scheduler.shell.checkpoint import (
    CHECKPOINT_KEY,
    Checkpoint,
    encode_checkpoint,
)
from tocsin_scheduler.shell.estate import Accounted
from tocsin_scheduler.shell.log_identity import LogIdentity
from tocsin_scheduler.shell.spans import Span
from tocsin_scheduler.store.local import LocalStore

REST_MS = 1_000
"""A partition on which nothing happens moves its watermark on this often, if there is a
transaction at all."""

BACKLOG_PAUSE_MS = 20
"""How long a backlog waits where nothing but its rate holds it up."""


class Live:
    """`accounted`: the pair (W, O) of the last transaction that has committed.

    Time does not run before the sources have been read to `goals`, the ends they had when the
    partition was taken over. `since`: see `metadata.Mark`; there until all has been met again.
    """

    def __init__(
        self, number: int, core: Partition, store: LocalStore, log: LogIdentity, state_offset: int
    ) -> None:
        self.number = number
        self.core = core
        self.store = store
        self.accounted = Accounted(core.place, core.offsets)
        self.state_offset = state_offset
        self.is_open = False
        self.wake: int | None = 0
        self.more = False
        self.needs_outcomes = False
        self.outcomes_read = 0
        self.goals: dict[Source, int] = {}
        self.memory: Span | None = None
        self.since: int | None = None
        self.log = log
        self._is_abreast = False
        self._advanced = 0

    def close(self) -> None:
        """It is not worked on any more."""
        if self.memory is not None:
            self.memory.cancel()
        self.store.close()

    def places(self, topics: Topics) -> dict[TopicPartition, int]:
        """Where its sources are read on from."""
        offsets = self.core.offsets
        return {
            TopicPartition(topics.jobs, self.number): offsets.jobs,
            TopicPartition(topics.signals, self.number): offsets.signals,
            TopicPartition(topics.outcomes, self.number): offsets.outcomes,
        }

    # the turn

    @property
    def turn(self) -> Turn:
        return self.core.turn

    @property
    def has_changed(self) -> bool:
        """Whether the open turn, if there is one, has more to commit than passed time."""
        return self.is_open and self.core.has_changed

    def open(self, now: int, budget: Budget) -> None:
        """Begin a turn unless one is open."""
        if not self.is_open:
            self.core.begin(now, self.outcomes_read, budget)
            self.is_open = True

    def apply(self, source: Source, record: Record) -> None:
        """One record, in the open turn."""
        self.core.apply(source, record)
        self.wake = 0

    @property
    def remembers(self) -> bool:
        """Whether the latest outcomes before its time have been read, and not yet put to use."""
        return self.memory is not None and self.memory.done

    def put_memory_to_use(self, now: int, budget: Budget) -> None:
        """What waited for it is applied, in a turn."""
        self.open(now, budget)
        self.core.remembered()
        self.memory, self.wake = None, 0

    def outcomes_are_read(self, asked_at: int) -> None:
        """To an end that was asked for at that instant."""
        self.outcomes_read = asked_at
        if self.is_open:
            self.turn.outcomes_read = asked_at
        if self.needs_outcomes:
            self.needs_outcomes = False
            self.wake = 0

    def is_due(self, now: int) -> bool:
        """Whether time has something to do here."""
        return not self.goals and (self.more or (self.wake is not None and self.wake <= now))

    def is_rested(self, now: int) -> bool:
        """Whether the watermark may be moved on along with others."""
        return not self.goals and now - self._advanced >= REST_MS

    def advance(self, now: int, budget: Budget) -> None:
        """Let time do its work, in a turn."""
        self.open(now, budget)
        progress = self.core.advance()
        self._advanced = now
        self._is_abreast = not budget.spent
        self.wake, self.more = progress.next_wake, progress.more and budget.spent
        if progress.more and not self.more:
            self.wake = min(self.wake or now + BACKLOG_PAUSE_MS, now + BACKLOG_PAUSE_MS)
        self.needs_outcomes = progress.needs_outcomes

    def leave(self) -> None:
        """The turn has changed nothing."""
        self.core.leave()
        self.is_open = False

    def drop(self) -> None:
        """The transaction has failed: back to where the last one that committed has ended."""
        self.core.drop()
        self.is_open = False
        self.wake, self.more, self.needs_outcomes = 0, False, False
        self._is_abreast = False

    # what is committed

    @property
    def committing(self) -> Accounted:
        """The pair that goes with the transaction."""
        place = self.turn.place if self.is_open else self.core.place
        return Accounted(place, self.core.committing)

    def post(self, now: int) -> None:
        """The transaction has committed: one batch of changes and checkpoint to the store."""
        self.accounted = self.committing
        place, offsets = self.accounted
        self.core.post({CHECKPOINT_KEY: self._checkpoint(place, offsets, now)})
        self.is_open = False
        if self._is_abreast and self.memory is None:
            self.since = None

    def _checkpoint(self, place: bytes, offsets: Offsets, now: int) -> bytes:
        return encode_checkpoint(
            Checkpoint(
                place=place,
                jobs=offsets.jobs,
                signals=offsets.signals,
                outcomes=offsets.outcomes,
                state=self.state_offset,
                time=now,
                log=self.log,
            )
        )
