"""What history is kept: ended runs by age and by count for each job, events by age.

Sweeps run between batches on the writer's thread, a bounded slice each.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from zlib import crc32

from sqlalchemy import Connection, Select, delete, func, select

from tocsin.model.keys import JobKey
from tocsin.model.values import Value
from tocsin_gateway.projection.database import Database, chunks, listing
from tocsin_gateway.projection.filters import has_ended, of_job, of_named
from tocsin_gateway.projection.handler_rows import sweep_handlers
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.request_rows import KEPT_MS
from tocsin_gateway.projection.tables import (
    DELETED,
    attempts,
    audit,
    backfills,
    completions,
    dead_letters,
    events,
    jobs,
    requests,
    runs,
    verdicts,
)

_SLICE = 2_000
_AT_ONCE = 200
_LOOKS = 10
"""How often a job's runs are counted, about, while it gets as many as are kept."""
_VERDICTS_MS = 600_000


class Retention(Value, frozen=True):
    """How much history is kept. `runs_a_job` counts rows, skipped and missed ones too."""

    age_ms: int = 30 * 86_400_000
    runs_a_job: int = 1_000
    tombstone_ms: int = 86_400_000
    audit_ms: int = 90 * 86_400_000


class Sweeper:
    """Removes what has outlived its time."""

    def __init__(self, database: Database, retention: Retention) -> None:
        self._database = database
        self._retention = retention
        self._grown: set[JobKey] = set()
        self._last_kept = _last_kept(database, retention.runs_a_job)
        self._every = max(1, retention.runs_a_job // _LOOKS)

    def note(self, changed: Mapping[str, RunRow]) -> None:
        """Jobs have these runs, more than before perhaps. Which of them has too many is looked at
        for one row in so many, so that counting stays cheap and a job keeps few too many."""
        self._grown |= {
            JobKey(row.tenant, row.job_id)
            for name, row in changed.items()
            if crc32(name.encode()) % self._every == 0
        }

    def sweep(self, now: int) -> int:
        """Remove a slice in one SQL transaction; the number of runs removed."""
        oldest = now - self._retention.age_ms
        with self._database.begin() as connection:
            removed = self._sweep_counts(connection) + _sweep_ages(connection, oldest)
            connection.execute(delete(events).where(events.c.time < oldest))
            connection.execute(delete(verdicts).where(verdicts.c.judged_time < now - _VERDICTS_MS))
            connection.execute(delete(requests).where(requests.c.record_time < now - KEPT_MS))
            connection.execute(delete(backfills).where(backfills.c.requested_time < oldest))
            audited = now - self._retention.audit_ms
            connection.execute(delete(audit).where(audit.c.time < audited))
            _sweep_tombstones(connection, now - self._retention.tombstone_ms)
            sweep_handlers(connection, now)
        return removed

    def _sweep_counts(self, connection: Connection) -> int:
        removed = 0
        while self._grown and removed < _SLICE:
            looked_at = set(islice(self._grown, _AT_ONCE))
            full = self._full(connection, looked_at)
            self._grown -= looked_at - full.keys()
            while full and removed < _SLICE:
                key, last_kept = full.popitem()
                surplus = _surplus(connection, key, last_kept)
                _remove(connection, surplus)
                removed += len(surplus)
                if len(surplus) < _SLICE:
                    self._grown.remove(key)
        return removed

    def _full(self, connection: Connection, keys: Iterable[JobKey]) -> dict[JobKey, str]:
        """Those of the jobs that have as many runs as are kept, each with the last of these."""
        found = connection.execute(self._last_kept, listing(keys))
        return {JobKey(*key): run_id for *key, run_id in found if run_id is not None}


def _surplus(connection: Connection, key: JobKey, last_kept: str) -> Sequence[str]:
    """The job's ended runs that are older; a slice of them."""
    older = select(runs.c.run_id).where(of_job(key), runs.c.run_id < last_kept, has_ended())
    return connection.execute(older.limit(_SLICE)).scalars().all()


def _last_kept(database: Database, kept: int) -> Select[Any]:
    """The listed jobs, each with its run of that place among the newest; null = it has fewer."""
    job = database.pairs(jobs.c.tenant, jobs.c.job_id).subquery()
    newest = select(runs.c.run_id).where(of_named(job.c.first, job.c.second))
    newest = newest.order_by(runs.c.run_id.desc()).offset(kept - 1).limit(1)
    return select(job.c.first, job.c.second, newest.scalar_subquery())


def _sweep_ages(connection: Connection, oldest: int) -> int:
    removed = 0
    for tenant in _tenants(connection):
        query = select(runs.c.run_id).where(
            runs.c.tenant == tenant, runs.c.scheduled_time < oldest, has_ended()
        )
        old = connection.execute(query.limit(_SLICE)).scalars().all()
        _remove(connection, old)
        removed += len(old)
    return removed


def _sweep_tombstones(connection: Connection, oldest: int) -> None:
    old = (jobs.c.updated_time < oldest) & DELETED
    gone = connection.execute(select(jobs.c.tenant, jobs.c.job_id).where(old).limit(_SLICE)).all()
    for tenant, job_id in gone:
        for table in (jobs, completions):
            of_job = (table.c.tenant == tenant) & (table.c.job_id == job_id)
            connection.execute(delete(table).where(of_job))


def _tenants(connection: Connection) -> Iterator[str]:
    """All tenants that have runs, each by one step in the index."""
    tenant = connection.execute(select(func.min(runs.c.tenant))).scalar()
    while tenant is not None:
        yield tenant
        query = select(func.min(runs.c.tenant)).where(runs.c.tenant > tenant)
        tenant = connection.execute(query).scalar()


def _remove(connection: Connection, run_ids: Sequence[str]) -> None:
    for some in chunks(run_ids):
        for table in (runs, attempts, dead_letters):
            connection.execute(delete(table).where(table.c.run_id.in_(some)))
        connection.execute(delete(events).where(events.c.run_id.in_(some)))
