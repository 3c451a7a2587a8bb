"""How many jobs a tenant has of each phase, kept up with the rows: counting them takes too long."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, select

from tocsin.model.keys import JobKey
from tocsin_gateway.projection.database import Database, listing
from tocsin_gateway.projection.tables import EXISTING, completions, job_counts, jobs

Phase: TypeAlias = Literal["active", "paused", "completed"]

IS_COMPLETED: ColumnElement[bool] = and_(
    completions.c.tenant == jobs.c.tenant,
    completions.c.job_id == jobs.c.job_id,
    completions.c.revision == jobs.c.revision,
)
"""Joins a job with its completion, if it was not edited since."""

_Counts: TypeAlias = Counter[tuple[str, str]]


class JobCounts:
    """Keeps the numbers up. For the writer's thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        are_meant = database.are_listed(jobs.c.tenant, jobs.c.job_id)
        self._of_listed = _by_phase().where(are_meant)

    @contextmanager
    def counted(self, connection: Connection, keys: Collection[JobKey]) -> Iterator[None]:
        """Takes into account what the block makes of these jobs."""
        if not keys:
            yield
            return
        listed = listing(keys)
        before = _counts(connection.execute(self._of_listed, listed))
        yield
        changes = _counts(connection.execute(self._of_listed, listed))
        changes.subtract(before)
        self._add(connection, changes)

    def uncount_partition(self, connection: Connection, partition: int) -> None:
        """The jobs of the partition are being removed."""
        of_partition = _by_phase().where(jobs.c.partition == partition)
        changes: _Counts = Counter()
        changes.subtract(_counts(connection.execute(of_partition)))
        self._add(connection, changes)

    def _add(self, connection: Connection, changes: _Counts) -> None:
        changed = {key: number for key, number in changes.items() if number}
        if not changed:
            return
        tenant, phase = job_counts.c.tenant, job_counts.c.phase
        for row in self._database.rows_listed(connection, tenant, phase, changed):
            changed[row["tenant"], row["phase"]] += row["number"]
        rows = ((*key, number) for key, number in changed.items())
        self._database.upsert(connection, job_counts, rows)


def jobs_by_phase(connection: Connection, tenant: str) -> dict[str, int]:
    """The number of a tenant's jobs of each phase of which there are any."""
    query = select(job_counts.c.phase, job_counts.c.number).where(job_counts.c.tenant == tenant)
    return {row.phase: row.number for row in connection.execute(query)}


def _by_phase() -> Select[Any]:
    phase = case(
        (jobs.c.status == "paused", "paused"),
        (completions.c.revision.is_not(None), "completed"),
        else_="active",
    )
    counts = select(jobs.c.tenant, phase.label("phase"), func.count())
    counts = counts.outerjoin_from(jobs, completions, IS_COMPLETED).where(EXISTING)
    return counts.group_by(jobs.c.tenant, phase)


def _counts(rows: Iterable[Any]) -> _Counts:
    return Counter({(tenant, phase): number for tenant, phase, number in rows})
