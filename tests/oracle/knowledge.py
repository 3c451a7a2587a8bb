"""What a scheduler's local store knows, against what the log says."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tocsin.broker.port import Record
from tocsin.wire.codec import JOB_STATE as JOB_STATE_CODEC
from tocsin.wire.headers import read_restates
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.place import DUE, JOB_STATE, key_of
from tocsin_scheduler.core.place import RUN_STATE as RUN_STATE_AT
from tocsin_scheduler.core.restoration import Restoration
from tocsin_scheduler.core.store import Store
from tocsin_scheduler.shell.metadata import WATERMARK_KEY
from tocsin_scheduler.store.memory import MemoryStore


class Standing(NamedTuple):
    """What the owner of a partition has committed: its watermark, and the next offset of `jobs`."""

    place: bytes
    jobs: int


class PartitionLog(NamedTuple):
    """The records of one partition of `state` and of `jobs`, in order."""

    state: Iterable[Record]
    jobs: Iterable[Record]


def gaps(
    store: Store, log: PartitionLog, standing: Standing, config: CoreConfig, now: int
) -> Iterator[str]:
    """Where the store, of an owner that stands there, knows something else than a new owner learns
    from the log alone; a sentence each."""
    before, after = _knowledge(store), _knowledge(_restored(log, standing, config, now))
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            was, learned = before.get(key), after.get(key)
            yield f"forgotten in {config.partition}: {key!r} is {was!r}, the log says {learned!r}"


def _restored(log: PartitionLog, standing: Standing, config: CoreConfig, now: int) -> Store:
    store = MemoryStore()
    restoration = Restoration(store, config, None)
    for record in log.state:
        if record.key and not record.key.startswith(WATERMARK_KEY):
            restoration.load_state(record.key, record.value)
    restoration.begin_jobs(standing.place, now)
    for record in log.jobs:
        restates = read_restates(record.headers)
        if record.offset < standing.jobs or (restates and restates.through < standing.jobs):
            restoration.load_job(record)
    for _ in restoration.finish():
        pass
    return store


def _knowledge(store: Store) -> dict[bytes, bytes]:
    """Due index and state: what is neither a cache nor a hint nor a matter of minutes."""
    found = {
        key: value
        for first in (DUE, JOB_STATE, RUN_STATE_AT)
        for key, value in store.scan(first, bytes([first[0] + 1]))
    }
    return {key: value for key, value in found.items() if not _is_spent(key, store)}


def _is_spent(entry: bytes, store: Store) -> bool:
    """Whether it is an entry of the due index whose job has used runs of a limited number: where
    they are used up, no run comes of it."""
    if not entry.startswith(DUE):
        return False
    state = store.get(JOB_STATE + key_of(entry[len(DUE) :]))
    return state is not None and JOB_STATE_CODEC.decode(state).used_runs > 0
