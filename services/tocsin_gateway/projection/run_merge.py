"""The runs of a few jobs in the order of a tenant's list, read job by job as far as needed."""

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any

from sqlalchemy import Connection, Select, literal, select

from tocsin.model.keys import JobKey
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.filters import of_job, of_named
from tocsin_gateway.projection.tables import runs

_AT_ONCE = 50


def newest_first(
    database: Database,
    connection: Connection,
    tenant: str,
    job_ids: Sequence[str],
    query: Select[str],
) -> Iterator[str]:
    """The ids of their runs, newest scheduled time first. `query`: ids of the runs that count, of
    whatever tenant (see `of_job`) and job. The first of each job are read at once, the others when
    their turn comes."""
    query = query.order_by(runs.c.run_id.desc())
    streams = [
        _of_one(connection, JobKey(tenant, job_id), query, first)
        for job_id, first in _firsts(database, connection, tenant, job_ids, query)
    ]
    return (run_id for _, run_id in merge(*streams, reverse=True))


def _firsts(
    database: Database,
    connection: Connection,
    tenant: str,
    job_ids: Sequence[str],
    query: Select[str],
) -> list[tuple[str, str]]:
    """The jobs that have any, each with its newest."""
    job = database.table_of(job_ids)
    newest = query.where(of_named(literal(tenant), job.c.value)).limit(1).scalar_subquery()
    rows = connection.execute(select(job.c.value, newest.label("run_id")))
    return [(job_id, run_id) for job_id, run_id in rows if run_id is not None]


def _of_one(
    connection: Connection, key: JobKey, query: Select[Any], first: str
) -> Iterator[tuple[str, str]]:
    """The time as it stands in the run id, which orders as times do, and the id."""
    prefix = len(f"{key.tenant}.{key.job_id}.")
    end = prefix + len("YYYYMMDDTHHMMSS.mmmZ")
    yield first[prefix:end], first
    query, last = query.where(of_job(key)).limit(_AT_ONCE), first
    while found := connection.execute(query.where(runs.c.run_id < last)).scalars().all():
        for run_id in found:
            yield run_id[prefix:end], run_id
        last = found[-1]
