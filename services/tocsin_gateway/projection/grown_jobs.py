"""Which jobs may have more runs than are kept: noted with the rows, so that no restart forgets any.

A job is noted for one run in so many, which keeps both cheap, noting and counting; so it has a few
too many for a while.
"""

from collections.abc import Iterable
from zlib import crc32

from sqlalchemy import Connection, delete, select, tuple_

from tocsin.model.keys import JobKey
from tocsin_gateway.projection.database import Database, listing, read_meta
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.tables import grown_jobs, jobs, meta

_LOOKS = 10
"""How often a job's runs are counted, about, while it gets as many as are kept."""
_KEPT = "runs_a_job"
_WALKED = "walked_through"
_BEFORE_ALL = JobKey("", "")


class GrownJobs:
    """Notes jobs, and gives them out to be counted. For the writer's thread."""

    def __init__(self, database: Database, runs_a_job: int) -> None:
        self._database = database
        self._kept = runs_a_job
        self._every = max(1, runs_a_job // _LOOKS)

    def begin_anew(self, connection: Connection) -> None:
        """Where fewer runs are kept than before, every job that is stored is looked at once,
        over restarts."""
        before = read_meta(connection).get(_KEPT)
        if before is not None and int(before) > self._kept:
            self._store_walked(connection, _BEFORE_ALL)
        self._database.upsert(connection, meta, [(_KEPT, str(self._kept))])

    def note(self, connection: Connection, rows: Iterable[RunRow]) -> None:
        """These rows are in the read model."""
        self.put(
            connection,
            {
                JobKey(row.tenant, row.job_id)
                for row in rows
                if crc32(row.run_id.encode()) % self._every == 0
            },
        )

    def put(self, connection: Connection, keys: Iterable[JobKey]) -> None:
        """These may have too many runs."""
        self._database.upsert(connection, grown_jobs, keys)

    def take(self, connection: Connection, most: int) -> set[JobKey]:
        """At most so many of those that were noted, and as many that are looked at in turn; they
        count as looked at. None are left where there are fewer."""
        first = select(grown_jobs.c.tenant, grown_jobs.c.job_id).limit(most)
        first = first.order_by(grown_jobs.c.tenant, grown_jobs.c.job_id)
        found = {JobKey(*row) for row in connection.execute(first)}
        are_taken = self._database.are_listed(grown_jobs.c.tenant, grown_jobs.c.job_id)
        connection.execute(delete(grown_jobs).where(are_taken), listing(found))
        return found | self._walk(connection, most)

    def _walk(self, connection: Connection, most: int) -> set[JobKey]:
        """The next jobs, where not all have been looked at since fewer runs are kept."""
        text = read_meta(connection).get(_WALKED)
        if text is None:
            return set()
        key = tuple_(jobs.c.tenant, jobs.c.job_id)
        following = select(jobs.c.tenant, jobs.c.job_id).where(key > tuple_(*text.split("/")))
        following = following.order_by(jobs.c.tenant, jobs.c.job_id).limit(most)
        found = [JobKey(*row) for row in connection.execute(following)]
        if len(found) == most:
            self._store_walked(connection, found[-1])
        else:
            connection.execute(delete(meta).where(meta.c.name == _WALKED))
        return set(found)

    def _store_walked(self, connection: Connection, key: JobKey) -> None:
        self._database.upsert(connection, meta, [(_WALKED, str(key))])
