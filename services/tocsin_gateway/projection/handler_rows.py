"""Which jobs have runs of which handler: the index behind the list of runs of a handler.

A row may outlive the last such run by a day or two; that a run has no row never happens. Who keeps
the read model up notes a pair at most once an hour, and only what nobody has noted for a day is
looked at, and removed where no run is left.
"""

from collections.abc import Iterable

from sqlalchemy import Connection, delete, select, update

from tocsin.model.keys import JobKey
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.filters import of_job
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.tables import job_handlers, runs

_FRESH_MS = 3_600_000
_STALE_MS = 86_400_000
_MOST_FRESH = 100_000
_SLICE = 200


class HandlerRows:
    """Notes pairs of jobs and handlers."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._fresh: set[tuple[str, str, str]] = set()
        self._fresh_since = 0

    def begin_anew(self) -> None:
        """What was noted may not stand in the read model."""
        self._fresh.clear()

    def note(self, connection: Connection, rows: Iterable[RunRow], now: int) -> None:
        """These rows are in the read model."""
        if now - self._fresh_since > _FRESH_MS or len(self._fresh) > _MOST_FRESH:
            self._fresh, self._fresh_since = set(), now
        pairs = {(row.tenant, row.handler, row.job_id) for row in rows if row.handler is not None}
        new = pairs - self._fresh
        self._database.upsert(connection, job_handlers, ((*pair, now) for pair in new))
        self._fresh |= new


def sweep_handlers(connection: Connection, now: int) -> bool:
    """Look at a slice of the pairs that nobody has noted for a day; whether it was a full one."""
    old = select(job_handlers).where(job_handlers.c.noted_time < now - _STALE_MS)
    old = old.order_by(job_handlers.c.noted_time).limit(_SLICE)
    found = connection.execute(old).all()
    for row in found:
        of_pair = of_job(JobKey(row.tenant, row.job_id)) & (runs.c.handler == row.handler)
        has_runs = connection.execute(select(runs.c.run_id).where(of_pair).limit(1)).first()
        this = (
            (job_handlers.c.tenant == row.tenant)
            & (job_handlers.c.handler == row.handler)
            & (job_handlers.c.job_id == row.job_id)
        )
        if has_runs is None:
            connection.execute(delete(job_handlers).where(this))
        else:
            connection.execute(update(job_handlers).where(this).values(noted_time=now))
    return len(found) == _SLICE
