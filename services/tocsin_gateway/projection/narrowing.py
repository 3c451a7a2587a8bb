"""Which jobs a filter can be about at all, where those are few.

What is rare is found by its index, not by looking through everything in the order of the list; what
is common comes up soon enough in that order.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Select, select

from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.tables import completions, job_handlers, job_tags, jobs

MOST_JOBS = 500
"""As many are few where the runs of each have to be looked up."""
MOST_LISTED = 4_000
"""As many are few where they are listed themselves."""

JobIds = Select[str]


def few_jobs(
    database: Database, connection: Connection, conditions: Iterable[JobIds], most: int
) -> list[str] | None:
    """The ids that meet all those conditions which at most `most` jobs meet; None = no condition is
    as rare."""
    few: set[str] | None = None
    for condition in conditions:
        found = [job_id for (job_id,) in database.gathered(connection, condition.limit(most + 1))]
        if len(found) <= most:
            few = set(found) if few is None else few & set(found)
    return None if few is None else sorted(few)


def tagged(tenant: str, tags: Sequence[tuple[str, str | None]]) -> list[JobIds]:
    """For each tag the jobs that have it; a value None = whatever value."""
    of_tenant = select(job_tags.c.job_id).where(job_tags.c.tenant == tenant)
    return [
        of_tenant.where(job_tags.c.name == name)
        if value is None
        else of_tenant.where(job_tags.c.name == name, job_tags.c.value == value)
        for name, value in tags
    ]


def handled(tenant: str, handler: str) -> JobIds:
    """The jobs of which a run has, or had, that handler."""
    return select(job_handlers.c.job_id).where(
        job_handlers.c.tenant == tenant, job_handlers.c.handler == handler
    )


def owned(tenant: str, owner: str) -> JobIds:
    return select(jobs.c.job_id).where(jobs.c.tenant == tenant, jobs.c.owner == owner)


def paused(tenant: str) -> JobIds:
    return select(jobs.c.job_id).where(jobs.c.tenant == tenant, jobs.c.status == "paused")


def ever_completed(tenant: str) -> JobIds:
    """The jobs that were completed once, perhaps before their last edit."""
    return select(completions.c.job_id).where(completions.c.tenant == tenant)
