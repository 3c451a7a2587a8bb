"""Typed access to the store of one partition, within one transaction.

What is kept, by the first byte of its key (`place.py`):

    d key        the definition: what the fold holds of the job
    f spot       the definition as the firing loop reads it; a spot is a hash and the key
    i place      due index -> nominal time; one entry a job with something to come
    j key        state of the job        \\ changelog: the state topic, same keys and bytes
    r key#run    state of a run          /
    t ms key[#run]  when to look at a job or a run again; a hint, judged when it fires
    u spot       how many of its runs are unfinished or wait, and whether `j` has it
    h key#run    append time of the last heartbeat
    e period run  runs that ended in that period
    c key        jobs with a range that may emit
    k run attempt  runs that were read back (`emitted.py`)
    n            how many jobs and unfinished runs there are
"""

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import msgspec

from tocsin.model.fold import Held
from tocsin.model.state import JobState, RunState
from tocsin.wire.codec import JOB, JOB_STATE, RUN_STATE
from tocsin.wire.state_bytes import run_state_value
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.emitted import Emitted
from tocsin_scheduler.core.firing import Firing, decode_firing, firing_of
from tocsin_scheduler.core.overlay import Overlay
from tocsin_scheduler.core.place import (
    DEFINITION,
    DUE,
    ENDED,
    FIRING,
    HEARTBEAT,
    PRESENCE,
    READY,
    TALLY,
    instant_bytes,
    run_key,
    spot_in,
    spot_of,
)
from tocsin_scheduler.core.place import (
    JOB_STATE as JOB_STATE_AT,
)
from tocsin_scheduler.core.place import (
    RUN_STATE as RUN_STATE_AT,
)
from tocsin_scheduler.core.timer_index import TimerIndex
from tocsin_scheduler.core.turn import Budget

_NOMINAL = struct.Struct(">q")
_PRESENCE = struct.Struct(">IIB")
_TALLY = struct.Struct(">qq")
_SMALL = 128
"""Bytes of a run's state that holds no run."""

NO_STATE = JobState()


class Presence(NamedTuple):
    """What of a job is in `state`: unfinished runs, waiting occurrences, a record of its own."""

    unfinished: int = 0
    waiting: int = 0
    has_state: bool = False


ABSENT = Presence()


class Tally(NamedTuple):
    """How many there are: jobs that are defined, and unfinished runs that `state` holds."""

    jobs: int = 0
    open_runs: int = 0


class _Definition(msgspec.Struct, array_like=True, gc=False):
    revision: int
    timestamp: int
    created_revision: int
    created_time: int
    job: bytes | None


_ENCODER = msgspec.msgpack.Encoder()
_DEFINITIONS = msgspec.msgpack.Decoder(_Definition)


class Book:
    """Reads through the overlay and writes to it; `changelog` is what the state topic lacks.
    `budget`: of the transaction, what states of runs take of it too."""

    def __init__(self, overlay: Overlay, config: CoreConfig) -> None:
        self.overlay = overlay
        self.changelog: dict[bytes, bytes | None] = {}
        self.budget = Budget()
        self.emitted = Emitted(overlay)
        self._config = config
        self._held: dict[bytes, Held | None] = {}
        self._changed_runs: defaultdict[bytes, dict[bytes, bytes | None]] = defaultdict(dict)
        self.timers = TimerIndex(overlay)
        self._jobs, self._open_runs = self._stored_tally()

    # definitions

    def held(self, key: bytes) -> Held | None:
        if key not in self._held:
            self._held[key] = self._read_held(key)
        return self._held[key]

    def _read_held(self, key: bytes) -> Held | None:
        data = self.overlay.get(DEFINITION + key)
        if data is None:
            return None
        stored = _DEFINITIONS.decode(data)
        return Held(
            revision=stored.revision,
            timestamp=stored.timestamp,
            job=None if stored.job is None else JOB.decode(stored.job),
            created_revision=stored.created_revision,
            created_time=stored.created_time,
        )

    def load_accepted(self, key: bytes, revision: int, timestamp: int, value: bytes | None) -> None:
        """A definition as its record has it: whole, in Avro, or deleted."""
        self._count_job(key, exists=value is not None)
        if self.overlay.get(DEFINITION + key) is not None:
            self.forget_firing(key)
        self._held.pop(key, None)
        self._put_loaded(key, revision, timestamp, value)

    def load_fresh(self, key: bytes, revision: int, timestamp: int, value: bytes) -> None:
        """`load_accepted` of a job of which there is nothing yet."""
        self._add(jobs=1)
        self._put_loaded(key, revision, timestamp, value)

    def _put_loaded(self, key: bytes, revision: int, timestamp: int, value: bytes | None) -> None:
        stored = _Definition(revision, timestamp, revision, timestamp, value)
        self.overlay.put(DEFINITION + key, _ENCODER.encode(stored))

    def loaded(self, key: bytes) -> tuple[int, bytes] | None:
        """Log timestamp and bytes of the definition that is held, if one is, unread."""
        data = self.overlay.get(DEFINITION + key)
        stored = None if data is None else _DEFINITIONS.decode(data)
        return None if stored is None or stored.job is None else (stored.timestamp, stored.job)

    def revision(self, key: bytes) -> int | None:
        """The accepted revision of what is held, deleted or not."""
        data = self.overlay.get(DEFINITION + key)
        return None if data is None else _DEFINITIONS.decode(data).revision

    def put_held(self, key: bytes, held: Held | None, value: bytes | None = None) -> None:
        """Keeps the firing entry in step; the due index is the caller's.

        value: the definition's bytes, where they are at hand.
        """
        self._count_job(key, exists=held is not None and held.exists)
        self._held[key] = held
        if held is None:
            self.overlay.delete(DEFINITION + key)
            self.forget_firing(key)
            return
        stored = _Definition(
            held.revision,
            held.timestamp,
            held.created_revision,
            held.created_time,
            None if held.job is None else value or JOB.encode(held.job),
        )
        self.overlay.put(DEFINITION + key, _ENCODER.encode(stored))
        if held.job is None:
            self.forget_firing(key)
        else:
            self.overlay.put(FIRING + spot_of(key), firing_of(held.job, held.revision).encode())

    def firing(self, key: bytes) -> Firing | None:
        """Made from the definition where a restore has not written it."""
        data = self.overlay.get(FIRING + spot_of(key))
        if data is not None:
            return decode_firing(data)
        held = self.held(key)
        if held is None or held.job is None:
            return None
        firing = firing_of(held.job, held.revision)
        self.overlay.put(FIRING + spot_of(key), firing.encode())
        return firing

    def prefetch(self, places: Sequence[bytes]) -> None:
        """Read together what the firing loop needs of the jobs that are due at `places`."""
        spots = [spot_in(place) for place in places]
        self.overlay.prefetch([FIRING + spot for spot in spots])
        self.overlay.prefetch([PRESENCE + spot for spot in spots])

    def forget_firing(self, key: bytes) -> None:
        """It is made from the definition again when it is asked for."""
        self.overlay.delete(FIRING + spot_of(key))

    def _count_job(self, key: bytes, *, exists: bool) -> None:
        data = self.overlay.get(DEFINITION + key)
        existed = data is not None and _DEFINITIONS.decode(data).job is not None
        self._add(jobs=exists - existed)

    # tally

    @property
    def tally(self) -> Tally:
        return Tally(self._jobs, self._open_runs)

    def _stored_tally(self) -> Tally:
        data = self.overlay.get(TALLY)
        return Tally() if data is None else Tally._make(_TALLY.unpack(data))

    def _add(self, jobs: int = 0, open_runs: int = 0) -> None:
        self._jobs += jobs
        self._open_runs += open_runs

    # due index

    def put_due(self, place: bytes, nominal: int) -> None:
        self.overlay.put(DUE + place, _NOMINAL.pack(nominal))

    def delete_due(self, place: bytes) -> None:
        self.overlay.delete(DUE + place)

    def due_between(self, place: bytes, end: bytes) -> Iterator[tuple[bytes, int]]:
        """(place, nominal) of the entries behind `place` and before `end`, in order."""
        for key, value in self.overlay.scan(DUE + place + b"\0", DUE + end):
            yield key[1:], _NOMINAL.unpack(value)[0]

    # presence

    def presence(self, key: bytes) -> Presence:
        data = self.overlay.get(PRESENCE + spot_of(key))
        return ABSENT if data is None else Presence._make(_PRESENCE.unpack(data))

    def _put_presence(self, key: bytes, presence: Presence) -> None:
        if presence == ABSENT:
            self.overlay.delete(PRESENCE + spot_of(key))
        else:
            self.overlay.put(PRESENCE + spot_of(key), _PRESENCE.pack(*presence))

    # state of jobs

    def job_state(self, key: bytes) -> JobState:
        data = self.overlay.get(JOB_STATE_AT + key)
        return NO_STATE if data is None else JOB_STATE.decode(data)

    def put_job_state(self, key: bytes, state: JobState) -> None:
        """An empty state is a tombstone."""
        value = None if state == NO_STATE else JOB_STATE.encode(state)
        if value == self.overlay.get(JOB_STATE_AT + key):
            return
        self._load_job_state(key, value)
        self.changelog[key] = value

    def load_job_state(self, key: bytes, value: bytes | None) -> None:
        """What a changelog record says, without writing one. Raises WireError, and changes nothing,
        if it cannot be read."""
        if value is not None:
            JOB_STATE.decode(value)
        self._load_job_state(key, value)

    def _load_job_state(self, key: bytes, value: bytes | None) -> None:
        self.overlay.set(JOB_STATE_AT + key, value)
        presence = self.presence(key)
        self._put_presence(key, presence._replace(has_state=value is not None))

    # state of runs

    def run_state(self, key: bytes, run_id: str) -> RunState | None:
        data = self.overlay.get(RUN_STATE_AT + run_key(key, run_id))
        return None if data is None else _decoded(data)

    def put_run_state(self, key: bytes, run_id: str, state: RunState | None) -> None:
        """Writes the changelog, the timer at the state's deadline and the presence."""
        ref = run_key(key, run_id)
        value = None if state is None else run_state_value(state)
        self.budget.size -= len(value or b"")
        self._load_run_state(key, ref, value, state)
        self.changelog[ref] = value

    def load_run_state(self, key: bytes, ref: bytes, value: bytes | None) -> None:
        """What a changelog record says, without writing one."""
        state = None if value is None else _decoded(value)
        self._load_run_state(key, ref, value, state)

    def _load_run_state(
        self, key: bytes, ref: bytes, value: bytes | None, state: RunState | None
    ) -> None:
        before = self.overlay.get(RUN_STATE_AT + ref)
        old = None if before is None else _decoded(before)
        if old is not None:
            self.timers.delete(old.deadline, ref)
        if state is not None:
            self.timers.put(state.deadline, ref)
        else:
            self.overlay.delete(HEARTBEAT + ref)
        self.overlay.set(RUN_STATE_AT + ref, value)
        self._changed_runs[key][RUN_STATE_AT + ref] = value
        self._count(key, old, state)

    def _count(self, key: bytes, old: RunState | None, new: RunState | None) -> None:
        unfinished = _is_unfinished(new) - _is_unfinished(old)
        waiting = _is_waiting(new) - _is_waiting(old)
        if unfinished or waiting:
            running, held_back, has_state = self.presence(key)
            after = Presence(running + unfinished, held_back + waiting, has_state)
            self._put_presence(key, after)
        self._add(open_runs=unfinished)

    def run_states(self, key: bytes) -> list[tuple[str, RunState]]:
        """All that is known of a job's runs, by run id."""
        start = RUN_STATE_AT + key + b"#"
        return [
            (name[len(start) :].decode(), _decoded(value))
            for name, value in self.overlay.scan_over(
                start, RUN_STATE_AT + key + b"$", self._changed_runs.get(key, {})
            )
        ]

    # heartbeats, ended runs, ranges

    def heartbeat(self, ref: bytes) -> int | None:
        return _number(self.overlay.get(HEARTBEAT + ref))

    def put_heartbeat(self, ref: bytes, append_time: int) -> None:
        self.overlay.put(HEARTBEAT + ref, _NOMINAL.pack(append_time))

    def ended(self, run_id: str, now: int) -> bool:
        """Whether the run is known to have ended within `ended_ms`, or a little longer."""
        newest = now // self._config.ended_ms + 1
        name = run_id.encode()
        return any(self.overlay.get(_ended_key(newest - age, name)) is not None for age in range(3))

    def put_ended(self, run_id: str, append_time: int) -> None:
        self.overlay.put(_ended_key(append_time // self._config.ended_ms, run_id.encode()), b"")

    def note_ended(self, run_id: str, append_time: int) -> None:
        """As `put_ended`, at once and outside of any transaction: the log does not need it."""
        ended = _ended_key(append_time // self._config.ended_ms, run_id.encode())
        self.overlay.write_through(ended, b"")

    def forget_ended(self, now: int, limit: int) -> None:
        """Drop at most `limit` ids that no answer of `ended` depends on any more."""
        oldest = now // self._config.ended_ms - 1
        for name, _ in islice(self.overlay.scan(ENDED, _ended_key(oldest, b"")), limit):
            self.overlay.delete(name)

    @property
    def changes(self) -> dict[bytes, bytes | None]:
        """What a commit writes to the store; None deletes."""
        return {**self.overlay.changes, TALLY: _TALLY.pack(*self.tally)}

    def committed(self) -> None:
        """The changes are in the store."""
        self.overlay.settle()
        self._begin_anew()

    def reset(self) -> None:
        """Forget what was not committed."""
        self.overlay.clear()
        self._begin_anew()
        self.timers.reset()
        self._jobs, self._open_runs = self._stored_tally()

    def _begin_anew(self) -> None:
        self.changelog = {}
        self._held = {}
        self._changed_runs.clear()

    def put_ready(self, key: bytes) -> None:
        self.overlay.put(READY + key, b"")

    def delete_ready(self, key: bytes) -> None:
        self.overlay.delete(READY + key)

    def ready_after(self, key: bytes) -> Iterator[bytes]:
        """Keys of jobs with a range that may emit, behind `key`."""
        for name, _ in self.overlay.scan(READY + key + b"\0", READY + b"\xff"):
            yield name[len(READY) :]


def _decoded(data: bytes) -> RunState:
    """Several parts of one turn read the same state; what holds a run itself is not kept."""
    return _decoded_small(data) if len(data) <= _SMALL else RUN_STATE.decode(data)


@lru_cache(maxsize=1_024)
def _decoded_small(data: bytes) -> RunState:
    return RUN_STATE.decode(data)


def _ended_key(period: int, run_id: bytes) -> bytes:
    return ENDED + instant_bytes(period) + run_id


def _is_unfinished(state: RunState | None) -> int:
    return int(state is not None and state.phase not in ("waiting", "dead"))


def _is_waiting(state: RunState | None) -> int:
    return int(state is not None and state.phase == "waiting")


def _number(data: bytes | None) -> int | None:
    return None if data is None else int(_NOMINAL.unpack(data)[0])
