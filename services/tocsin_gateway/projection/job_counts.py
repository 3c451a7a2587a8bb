"""How many jobs a tenant has of each phase, kept up with the rows: counting them takes too long."""

from collections import Counter
from collections.abc import Collection, Iterator
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


@contextmanager
def counted(database: Database, connection: Connection, keys: Collection[JobKey]) -> Iterator[None]:
    """Takes into account what the block makes of these jobs."""
    if not keys:
        yield
        return
    are_meant = database.are_listed(jobs.c.tenant, jobs.c.job_id)
    query, parameters = _by_phase().where(are_meant), listing(keys)
    before = _counts(connection, query, parameters)
    yield
    changes = _counts(connection, query, parameters)
    changes.subtract(before)
    _add(database, connection, changes)


def uncount_partition(database: Database, connection: Connection, partition: int) -> None:
    """The jobs of the partition are being removed."""
    changes: _Counts = Counter()
    changes.subtract(_counts(connection, _by_phase().where(jobs.c.partition == partition), {}))
    _add(database, connection, changes)


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


def _counts(connection: Connection, query: Select[Any], parameters: dict[str, str]) -> _Counts:
    return Counter({(row[0], row[1]): row[2] for row in connection.execute(query, parameters)})


def _add(database: Database, connection: Connection, changes: _Counts) -> None:
    changed = {key: number for key, number in changes.items() if number}
    if not changed:
        return
    tenant, phase = job_counts.c.tenant, job_counts.c.phase
    for row in database.rows_listed(connection, tenant, phase, changed):
        changed[row["tenant"], row["phase"]] += row["number"]
    database.upsert(connection, job_counts, ((*key, n) for key, n in changed.items()))
