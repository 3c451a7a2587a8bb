"""What is kept of a job for a time only: settled times, decided instants, applied signals,
tombstones, and jobs that have nothing left to run."""

import msgspec

from tocsin.model.fold import Held
from tocsin.wire.headers import condition_header
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.edits import Edits, Side, ends_by_itself, side_of
from tocsin_scheduler.core.emission import Emission
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.core.turn import Turn

_PATIENCE_MS = 60_000


class Upkeep:
    """Looks at one job and says when to look again."""

    def __init__(self, book: Book, emission: Emission, edits: Edits, config: CoreConfig) -> None:
        self._book = book
        self._emission = emission
        self._edits = edits
        self._config = config

    def look(self, turn: Turn, key: bytes) -> int | None:
        instants = [
            self._tombstone(turn, key),
            self._settled(turn, key),
            self._decided(turn, key),
            self._applied(turn, key),
            self._completed(turn, key),
        ]
        return min((instant for instant in instants if instant is not None), default=None)

    def _tombstone(self, turn: Turn, key: bytes) -> int | None:
        held = self._book.held(key)
        if held is None or held.job is not None:
            return None
        forgotten = held.timestamp + self._config.compaction_lag_ms + 1
        if turn.now <= forgotten:
            return forgotten + 1
        self._book.put_held(key, None)
        return None

    def _settled(self, turn: Turn, key: bytes) -> int | None:
        state = self._book.job_state(key)
        if state.settled is None:
            return None
        forgotten = state.settled + self._config.longest_jitter_ms
        if instant_of(turn.place) <= forgotten:
            return max(forgotten, turn.now) + 1
        self._book.put_job_state(key, msgspec.structs.replace(state, settled=None))
        return None

    def _decided(self, turn: Turn, key: bytes) -> int | None:
        state = self._book.job_state(key)
        kept = [entry for entry in state.decided if entry.until > turn.now]
        if len(kept) < len(state.decided):
            self._book.put_job_state(key, msgspec.structs.replace(state, decided=kept))
        return min((entry.until for entry in kept), default=None)

    def _applied(self, turn: Turn, key: bytes) -> int | None:
        state = self._book.job_state(key)
        kept = [entry for entry in state.applied if entry.until > turn.now]
        if len(kept) < len(state.applied):
            self._book.put_job_state(key, msgspec.structs.replace(state, applied=kept))
        return min((entry.until for entry in kept), default=None)

    def _completed(self, turn: Turn, key: bytes) -> int | None:
        """A job with nothing left to run is deleted `keep_completed` after it has ended."""
        held = self._book.held(key)
        side = side_of(held)
        if held is None or side is None or side.job.status != "active":
            return None
        if not ends_by_itself(side.job):
            return None
        upcoming = self._edits.upcoming(turn.place, key, side)
        if upcoming is not None:
            return max(upcoming.due, turn.now) + _PATIENCE_MS
        if self._is_occupied(key):
            return turn.now + _PATIENCE_MS
        retired = self._ended_at(turn, key, side) + side.job.keep_completed_ms
        if turn.now < retired:
            return retired
        self._delete(turn, key, held)
        return turn.now + _PATIENCE_MS

    def _is_occupied(self, key: bytes) -> bool:
        presence = self._book.presence(key)
        return bool(presence.unfinished or presence.waiting or self._book.job_state(key).ranges)

    def _ended_at(self, turn: Turn, key: bytes, side: Side) -> int:
        """A one-off's instant says it; of a recurring job it is noted when it is noticed."""
        if side.is_one_off:
            return max(side.once.due.due, side.held.timestamp)
        state = self._book.job_state(key)
        if state.completed is None:
            state = msgspec.structs.replace(state, completed=turn.now)
            self._book.put_job_state(key, state)
            self._emission.about(
                turn, key, "completed", "nothing left to run", revision=side.held.revision
            )
        return state.completed or turn.now

    def _delete(self, turn: Turn, key: bytes, held: Held) -> None:
        """As a command of the scheduler's own, on the condition that nobody was faster."""
        condition = [condition_header(held.revision)]
        turn.out.append(
            Outgoing(self._config.topics.jobs, key, None, self._config.partition, condition)
        )
