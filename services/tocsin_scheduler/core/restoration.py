"""A partition's store brought up to what its last owner has committed.

Cold: the state topic to its end, then the jobs topic from its beginning up to the committed offset;
each definition is entered into the due index behind the watermark as it comes, most of them without
a look at the store (`fresh_jobs`). Warm: only what has
changed since the checkpoint, and the entries that the watermark has passed since.

Records below the cut are taken as they come; restatements that judge records below it, and stand
at or after it, are taken too (see `tocsin.model.fold`). Work is written in slices; the caller
removes the checkpoint before the first and writes the new one after the last.
"""

from collections.abc import Iterator
from functools import partial

from tocsin.model.fold import Held, judge
from tocsin.model.keys import InvalidKey, JobKey, parse_job_key
from tocsin.wire.codec import JOB, WireError
from tocsin.wire.job_records import read_job_record
from tocsin_scheduler.core.assembly import assemble
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.edits import side_of
from tocsin_scheduler.core.fresh_jobs import FreshJobs
from tocsin_scheduler.core.partition import InRecord
from tocsin_scheduler.core.place import NOWHERE, end_of, instant_of, key_of
from tocsin_scheduler.core.plain_records import read_plain
from tocsin_scheduler.core.store import Store

SLICE = 2_000


class Restoration:
    """`since`: the watermark of the checkpoint that the store holds; None = it holds nothing."""

    def __init__(self, store: Store, config: CoreConfig, since: bytes | None) -> None:
        self._store = store
        self._config = config
        self._since = since
        parts = assemble(store, config)
        self._book, self._edits = parts.book, parts.edits
        self._fresh = FreshJobs(self._book, config) if since is None else None
        self._touched: set[bytes] = set()
        self._place, self._now = NOWHERE, 0
        self._unwritten = 0

    @property
    def _is_cold(self) -> bool:
        return self._since is None

    def load_job(self, record: InRecord) -> None:
        """One record of the jobs topic below the cut, or a restatement of one that is."""
        if self._fresh is None or not self._fresh.load(record):
            self._load_known(record)
        self._flush_if_full()

    def _load_known(self, record: InRecord) -> None:
        key = _key(record)
        if key is None:
            return
        name = str(key).encode()
        self._touch(name)
        if not self._load_plain(name, record):
            self._load_judged(key, record)

    def load_state(self, key: bytes, value: bytes | None) -> None:
        """One record of the state topic, of a job or of a run.

        One that cannot be read counts as a deletion, since what it has replaced may be compacted
        away, and raises WireError.
        """
        name, is_run, _ = key.partition(b"#")
        self._touch(name)
        if self._fresh is not None:
            self._fresh.meet(name)
        load = partial(self._book.load_run_state, name) if is_run else self._book.load_job_state
        try:
            load(key, value)
        except WireError:
            load(key, None)
            raise
        finally:
            self._flush_if_full()

    def load_emitted(self, run_id: str, attempt: int, now: int) -> None:
        """A run that stands in the log behind the watermark, or the record that it was skipped or
        missed: it counts as emitted."""
        self._book.emitted.load(run_id, attempt, now)
        self._flush_if_full()

    def load_ended(self, run_id: str, now: int) -> None:
        """An outcome behind the watermark says that the run has ended."""
        self._book.put_ended(run_id, now)
        self._flush_if_full()

    def begin_jobs(self, place: bytes, now: int) -> None:
        """Records of the jobs topic come from here on; the watermark is at `place`."""
        self._place, self._now = place, now
        if self._fresh is not None:
            self._fresh.begin(place, now)

    def finish(self) -> Iterator[None]:
        """Enter into the due index what lies behind the watermark; pauses after each slice."""
        for done, key in enumerate(self._stale_keys(), 1):
            self._enter(key)
            if done % SLICE == 0:
                self._flush()
                yield
        self._flush()

    def _load_plain(self, key: bytes, record: InRecord) -> bool:
        """False where the record has to be judged as a whole."""
        plain = read_plain(record)
        if plain is None or not _is_readable(record.value):
            return False
        held = self._book.revision(key)
        if held is not None and plain.through is not None and held > plain.through:
            return True
        if self._is_cold and held is not None:
            self._leave(key)
        self._book.load_accepted(key, plain.revision, plain.timestamp, record.value)
        if self._is_cold:
            self._enter(key)
        return True

    def _load_judged(self, key: JobKey, record: InRecord) -> None:
        name = str(key).encode()
        judged = read_job_record(
            key,
            record.value,
            record.headers,
            record.offset,
            record.timestamp,
            partition=self._config.partition,
            partitions=self._config.partitions,
        )
        lag = self._config.compaction_lag_ms
        held = self._held(name)
        judgement = judge(held, judged, compaction_lag_ms=lag, trusting=True)
        if judgement.held == held:
            return
        if self._is_cold:
            self._leave(name)
        self._book.put_held(name, judgement.held)
        if self._is_cold:
            self._enter(name)

    def _held(self, key: bytes) -> Held | None:
        """Nothing where it cannot be read: it was taken unread, and is judged as void later on."""
        try:
            return self._book.held(key)
        except WireError:
            return None

    def _leave(self, key: bytes) -> None:
        """Only what was loaded without a look can be unreadable."""
        try:
            self._edits.leave(self._place, key)
        except WireError:
            assert self._fresh is not None
            self._fresh.leave(key)

    def _touch(self, key: bytes) -> None:
        """Before the first change of a job: its entry in the due index is found by what it was."""
        if self._since is None or key in self._touched:
            return
        self._touched.add(key)
        self._edits.leave(self._since, key)

    def _stale_keys(self) -> Iterator[bytes]:
        """Jobs whose entry is not where it belongs; where all were loaded, it is."""
        if self._since is None:
            return
        passed = list(self._book.due_between(self._since, end_of(instant_of(self._place))))
        for entry, _ in passed:
            if entry <= self._place:
                self._book.delete_due(entry)
                self._touched.add(key_of(entry))
        yield from sorted(self._touched)

    def _enter(self, key: bytes) -> None:
        held = self._book.held(key)
        if held is None:
            return
        side = side_of(held)
        if side is not None:
            self._edits.enter_side(self._place, key, side)
        self._edits.keep_up(self._place, self._now, key, side)
        if self._book.job_state(key).ranges:
            self._book.put_ready(key)

    def _flush_if_full(self) -> None:
        self._unwritten += 1
        if self._unwritten >= SLICE:
            self._flush()

    def _flush(self) -> None:
        self._unwritten = 0
        self._store.write(self._book.changes)
        self._book.committed()


def _is_readable(value: bytes | None) -> bool:
    try:
        return value is None or JOB.decode(value) is not None
    except WireError:
        return False


def _key(record: InRecord) -> JobKey | None:
    try:
        return parse_job_key((record.key or b"").decode())
    except (InvalidKey, UnicodeDecodeError):
        return None
