"""What history is kept: ended runs by age and by count for each job, events by age.

Sweeps run between batches on the writer's thread, a bounded slice each; `sweep_pace` says when.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Select, delete, or_, select

from tocsin.model.keys import JobKey, is_of_backfill
from tocsin.model.values import Value
from tocsin_gateway.projection.database import Database, distinct, listing
from tocsin_gateway.projection.filters import has_ended, of_job, of_named
from tocsin_gateway.projection.grown_jobs import GrownJobs
from tocsin_gateway.projection.handler_rows import sweep_handlers
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.removal import SLICE, remove_before, remove_runs
from tocsin_gateway.projection.request_rows import KEPT_MS
from tocsin_gateway.projection.tables import (
    DELETED,
    audit,
    backfills,
    completions,
    events,
    jobs,
    requests,
    runs,
    tallies,
    verdicts,
)
from tocsin_gateway.projection.tally_rows import tally_removed

_SLOTS_MS = 86_400_000
"""So long slots of a backfill are not counted: those before the newest rows would go at once."""

_ROWS_COUNTED = 100_000
_MOST_AT_ONCE = 500
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
        self._grown = GrownJobs(database, retention.runs_a_job)
        self._tenant = ""
        self._last_kept = _last_kept(database, retention.runs_a_job)
        self._at_once = min(max(1, _ROWS_COUNTED // retention.runs_a_job), _MOST_AT_ONCE)

    def begin_anew(self) -> None:
        """The read model may be another one, or have been kept up with other settings."""
        with self._database.begin() as connection:
            self._grown.begin_anew(connection)

    def sweep(self, now: int) -> bool:
        """Remove at most a slice of each kind of rows in one SQL transaction; whether there may be
        more of any kind that could be removed now."""
        kept = self._retention
        oldest = now - kept.age_ms
        with self._database.begin() as connection:
            left = [
                self._sweep_counts(connection, now - _SLOTS_MS),
                self._sweep_ages(connection, oldest),
                remove_before(connection, events.c.time, oldest),
                remove_before(connection, verdicts.c.judged_time, now - _VERDICTS_MS),
                remove_before(connection, requests.c.record_time, now - KEPT_MS),
                remove_before(connection, tallies.c.begin_time, oldest),
                remove_before(connection, backfills.c.requested_time, oldest),
                remove_before(connection, audit.c.time, now - kept.audit_ms),
                self._sweep_tombstones(connection, now - kept.tombstone_ms),
                sweep_handlers(connection, now),
            ]
        return any(left)

    def _sweep_counts(self, connection: Connection, slots_before: int) -> bool:
        grown = self._grown.take(connection, self._at_once)
        left, unfinished = SLICE, set[JobKey]()
        for key, last_kept in self._full(connection, grown).items():
            older = _older(connection, key, last_kept, left) if left else []
            surplus = [row for row in older if _is_counted(row, slots_before)]
            tally_removed(self._database, connection, surplus)
            remove_runs(connection, [row.run_id for row in surplus])
            if len(older) == left and (surplus or not left):
                unfinished.add(key)
            left -= len(older)
        self._grown.put(connection, unfinished)
        return bool(unfinished) or len(grown) >= self._at_once

    def _full(self, connection: Connection, keys: Iterable[JobKey]) -> dict[JobKey, str]:
        """Those of the jobs that have as many runs as are kept, each with the last of these."""
        found = connection.execute(self._last_kept, listing(keys))
        return {JobKey(*key): run_id for *key, run_id in found if run_id is not None}

    def _sweep_ages(self, connection: Connection, oldest: int) -> bool:
        """Of the tenant that the last sweep has not come to the end of, and of those after it. A
        slot of long ago that a backfill or a catch-up has run now is as old as its run."""
        left = SLICE
        for tenant in distinct(connection, runs.c.tenant, self._tenant):
            query = select(runs.c.run_id).where(
                runs.c.tenant == tenant,
                runs.c.scheduled_time < oldest,
                or_(runs.c.emitted_time.is_(None), runs.c.emitted_time < oldest),
                has_ended(),
            )
            query = query.order_by(runs.c.scheduled_time, runs.c.run_id).limit(left)
            old = connection.execute(query).scalars().all()
            remove_runs(connection, old)
            left -= len(old)
            if not left:
                self._tenant = tenant
                return True
        has_skipped, self._tenant = bool(self._tenant), ""
        return has_skipped

    def _sweep_tombstones(self, connection: Connection, oldest: int) -> bool:
        old = select(jobs.c.tenant, jobs.c.job_id).where(jobs.c.updated_time < oldest, DELETED)
        old = old.order_by(jobs.c.updated_time).limit(SLICE)
        gone = [JobKey(*row) for row in connection.execute(old)]
        for table in (jobs, completions):
            are_gone = self._database.are_listed(table.c.tenant, table.c.job_id)
            connection.execute(delete(table).where(are_gone), listing(gone))
        return len(gone) == SLICE


def _older(connection: Connection, key: JobKey, last_kept: str, limit: int) -> list[RunRow]:
    """The job's ended runs behind those that are kept, the newest first, at most `limit`."""
    older = select(runs).where(of_job(key), runs.c.run_id < last_kept, has_ended())
    rows = connection.execute(older.order_by(runs.c.run_id.desc()).limit(limit))
    return [RunRow(*row) for row in rows]


def _is_counted(row: RunRow, slots_before: int) -> bool:
    """Not a slot of a backfill that was run from `slots_before` on."""
    emitted = row.emitted_time
    return not is_of_backfill(row.run_id) or emitted is None or emitted < slots_before


def _last_kept(database: Database, kept: int) -> Select[Any]:
    """The listed jobs, each with its run of that place among the newest; null = it has fewer."""
    job = database.pairs(jobs.c.tenant, jobs.c.job_id).subquery()
    newest = select(runs.c.run_id).where(of_named(job.c.first, job.c.second))
    newest = newest.order_by(runs.c.run_id.desc()).offset(kept - 1).limit(1)
    return select(job.c.first, job.c.second, newest.scalar_subquery())
