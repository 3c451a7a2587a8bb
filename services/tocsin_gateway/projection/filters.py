"""Conditions that several queries share."""

from sqlalchemy import ColumnElement, Table, and_, literal, select

from tocsin.model.keys import JobKey
from tocsin.model.runs import UNFINISHED
from tocsin_gateway.projection.tables import job_tags, runs


def of_job(key: JobKey) -> ColumnElement[bool]:
    """The runs of a job: a range of run ids, in the order of scheduled times.

    The range may hold runs of jobs whose ids go on after a dot, however many, hence the other
    condition and an index over both. One on the tenant, which the range implies, would let a
    database take the index by time instead and look at all runs of the tenant.
    """
    return _of_job(literal(f"{key.tenant}.{key.job_id}."), literal(key.job_id))


def of_row(table: Table) -> ColumnElement[bool]:
    """The runs of the job in a row of a query: as `of_job`, for all of them at once."""
    return of_named(table.c.tenant, table.c.job_id)


def of_named(tenant: ColumnElement[str], job_id: ColumnElement[str]) -> ColumnElement[bool]:
    """The runs of the job of that name."""
    return _of_job(tenant + "." + job_id + ".", job_id)


def _of_job(prefix: ColumnElement[str], job_id: ColumnElement[str]) -> ColumnElement[bool]:
    return and_(
        runs.c.run_id > prefix + "0",
        runs.c.run_id < prefix + ":",
        runs.c.job_id == job_id,
    )


def has_ended() -> ColumnElement[bool]:
    """The runs that no attempt follows."""
    return runs.c.status.not_in(sorted(UNFINISHED))


def has_tag(table: Table, name: str, value: str | None) -> ColumnElement[bool]:
    """The rows of `jobs` or `runs` whose job has the tag now; `value` None = whatever value.

    Looked up row by row: what PostgreSQL could take for a join it may answer from all tags.
    """
    found = select(job_tags.c.value).where(
        job_tags.c.tenant == table.c.tenant,
        job_tags.c.job_id == table.c.job_id,
        job_tags.c.name == name,
    )
    tag = found.scalar_subquery()
    return tag.is_not(None) if value is None else tag == value
