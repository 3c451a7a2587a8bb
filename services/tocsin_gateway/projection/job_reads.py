"""Reading jobs from the read model."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    Select,
    and_,
    select,
)

from tocsin.model.fold import Held, Verdict
from tocsin.model.jobs import Job
from tocsin.model.keys import JobKey
from tocsin.model.values import Value
from tocsin.wire.topics import DEFAULT_POOL
from tocsin_gateway.projection import narrowing
from tocsin_gateway.projection.cursors import Position, read_cursor, write_cursor
from tocsin_gateway.projection.database import Database, distinct, listing
from tocsin_gateway.projection.filters import has_tag
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.job_counts import IS_COMPLETED, Phase
from tocsin_gateway.projection.job_rows import held_of
from tocsin_gateway.projection.job_words import matches, worded
from tocsin_gateway.projection.narrowing import (
    JobIds,
    ever_completed,
    few_jobs,
    owned,
    paused,
    tagged,
)
from tocsin_gateway.projection.orders import Order, far
from tocsin_gateway.projection.run_reads import newest_of, rows_of
from tocsin_gateway.projection.tables import EXISTING, completions, jobs, verdicts

JobSort = Literal["job_id", "-job_id", "created_at", "-created_at"]
_BY_CREATION = (jobs.c.created_time, jobs.c.job_id)
_ORDERS: dict[JobSort, tuple[Order, tuple[type[int] | type[str], ...]]] = {
    "job_id": (Order((jobs.c.job_id,)), (str,)),
    "-job_id": (Order((jobs.c.job_id,), falls=True), (str,)),
    "created_at": (Order(_BY_CREATION), (int, str)),
    "-created_at": (Order(_BY_CREATION, falls=True), (int, str)),
}
"""With the kinds of the sort keys' values; the id comes last."""
_BEGINS: dict[JobSort, Position] = {"job_id": ("",), "-job_id": ("~",)}
"""Before all ids. A range is what makes SQLite prefer the index without tombstones to the primary
key; in the other orders it has no choice."""


class StoredJob(Value, frozen=True):
    """A job as the read model has it; its definition is whole. known_through: the newest
    scheduled time of which it is known what became of it."""

    held: Held
    job: Job
    phase: Phase
    last_run: RunRow | None = None
    known_through: int | None = None


class JobFilter(Value, frozen=True):
    """Which jobs of a tenant: all conditions hold. tags: name and value, None = any value. text:
    beginnings of words (see `job_words`)."""

    tenant: str
    tags: tuple[tuple[str, str | None], ...] = ()
    status: Phase | None = None
    owner: str | None = None
    text: str | None = None

    @property
    def is_all(self) -> bool:
        """No condition leaves any job out."""
        return not self.tags and (self.status, self.owner, self.text) == (None, None, None)


class JobPage(Value, frozen=True):
    items: tuple[StoredJob, ...]
    next_cursor: str | None


class Judged(Value, frozen=True):
    """What became of a record. revision: what is accepted after it, None = nothing."""

    verdict: Verdict
    revision: int | None
    reason: str


class CommandPlace(NamedTuple):
    """Where a record of the jobs topic stands, and of which job it is."""

    partition: int
    offset: int
    key: JobKey


class Settled(NamedTuple):
    """What became of a command (None = not judged, or long ago), and the job, if it exists now."""

    judged: Judged | None
    stored: StoredJob | None


class JobReads:
    """Answers about jobs. Every call blocks on the database; for any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        are_meant = database.are_listed(jobs.c.tenant, jobs.c.job_id)
        self._held = select(jobs).where(are_meant)
        self._existing = _stored_jobs().where(are_meant, jobs.c.definition.is_not(None))
        place = (verdicts.c.partition, verdicts.c.record_offset)
        verdict = (verdicts.c.verdict, verdicts.c.revision, verdicts.c.reason)
        self._verdicts = select(*place, *verdict).where(database.are_listed(*place))

    def held(self, key: JobKey) -> Held | None:
        """What the fold holds of a job, a tombstone too."""
        return self.held_of_many([key]).get(key)

    def job(self, key: JobKey) -> StoredJob | None:
        """The job, if it exists."""
        return self.stored_of_many([key]).get(key)

    def held_of_many(self, keys: Sequence[JobKey]) -> dict[JobKey, Held]:
        """What the fold holds of jobs, tombstones too."""
        with self._database.read() as connection:
            rows = connection.execute(self._held, listing(keys)).mappings().all()
        return {JobKey(row["tenant"], row["job_id"]): held_of(row) for row in rows}

    def stored_of_many(self, keys: Sequence[JobKey]) -> dict[JobKey, StoredJob]:
        """Those of the jobs that exist."""
        with self._database.read() as connection:
            return self._stored_of_many(connection, keys)

    def settled_of_many(self, places: Sequence[CommandPlace]) -> dict[CommandPlace, Settled]:
        """What became of commands, of one moment."""
        with self._database.read() as connection:
            judged = self._judged_of_many(connection, [place[:2] for place in places])
            stored = self._stored_of_many(connection, {place.key for place in places})
        return {each: Settled(judged.get(each[:2]), stored.get(each.key)) for each in places}

    def keys(self, wanted: JobFilter, limit: int, after: str | None = None) -> list[JobKey]:
        """The keys of at most `limit` jobs that match, in their order; only ids behind `after`.
        However many are looked through, no transaction is a long one: a job that changes meanwhile
        may be meant as it was or as it is."""
        order, _ = _ORDERS["job_id"]
        found: list[Position] = []
        begin: Position | None = (after or "",)
        while begin is not None and len(found) < limit:
            with self._database.read() as connection:
                some, begin = self._places(connection, wanted, order, begin, limit - len(found))
            found += some
        return [JobKey(wanted.tenant, str(job_id)) for (job_id,) in found]

    def pools(self, tenant: str | None = None) -> frozenset[str]:
        """The pools that jobs name, of a tenant or of all, and the default one."""
        pools = known_pools(self._database)
        if tenant is None:
            return pools
        with self._database.read() as connection:
            return frozenset(
                pool
                for pool in pools
                if pool == DEFAULT_POOL or _is_named(connection, pool, tenant)
            )

    def judged_of_many(self, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Judged]:
        """The verdicts on records of the jobs topic: (partition, offset) -> what became of it.
        Those that were not judged, or long ago, are left out."""
        with self._database.read() as connection:
            return self._judged_of_many(connection, places)

    def page(self, wanted: JobFilter, sort: JobSort, cursor: str | None, limit: int) -> JobPage:
        """At most `limit` jobs after the cursor, fewer where the next ones are far. The sort keys
        never change, so a job that exists all the time is on exactly one page. Raises
        `InvalidCursor`."""
        order, kinds = _ORDERS[sort]
        begin = _BEGINS.get(sort)
        if cursor is not None:
            begin = read_cursor(f"jobs {sort}", cursor, *kinds)
        with self._database.read() as connection:
            found, last = self._places(connection, wanted, order, begin, limit)
            items = self._load(connection, wanted.tenant, [place[-1] for place in found])
        return JobPage(
            items=tuple(items),
            next_cursor=None if last is None else write_cursor(f"jobs {sort}", last),
        )

    def _places(
        self,
        connection: Connection,
        wanted: JobFilter,
        order: Order,
        begin: Position | None,
        limit: int,
    ) -> tuple[list[Position], Position | None]:
        """The sort keys of a page, and behind which one the next begins; None = there is none."""
        few = few_jobs(self._database, connection, _conditions(wanted), narrowing.MOST_LISTED)
        query, end = _filtered(wanted).with_only_columns(*order.columns), None
        if few is not None:
            # In the database's order, or from `begin` on, it would walk over all jobs there are.
            query = query.where(self._database.among(jobs.c.job_id, few))
            found = order.sorted_after(begin, self._database.gathered(connection, query))
        else:
            if not wanted.is_all:
                behind = [_existing(wanted.tenant), *order.within(begin)]
                end = far(connection, behind, order)
            page = order.sort(query.where(*order.within(begin, end))).limit(limit + 1)
            found = [tuple(row) for row in connection.execute(page)]
        if len(found) > limit:
            return found[:limit], found[limit - 1]
        return found, end

    def _load(
        self, connection: Connection, tenant: str, job_ids: Sequence[int | str]
    ) -> list[StoredJob]:
        """These jobs, in this order."""
        if not job_ids:
            return []
        names = [str(job_id) for job_id in job_ids]
        query = _stored_jobs().where(
            jobs.c.tenant == tenant, self._database.among(jobs.c.job_id, names)
        )
        rows = {row["job_id"]: row for row in connection.execute(query).mappings()}
        return self._stored(connection, [rows[name] for name in names])

    def _judged_of_many(
        self, connection: Connection, places: Sequence[tuple[int, int]]
    ) -> dict[tuple[int, int], Judged]:
        rows = connection.execute(self._verdicts, listing(places))
        return {
            (partition, offset): Judged(verdict=verdict, revision=revision, reason=reason)
            for partition, offset, verdict, revision, reason in rows
        }

    def _stored_of_many(
        self, connection: Connection, keys: Iterable[JobKey]
    ) -> dict[JobKey, StoredJob]:
        rows = connection.execute(self._existing, listing(keys)).mappings().all()
        return {stored.job.key: stored for stored in self._stored(connection, rows)}

    def _stored(self, connection: Connection, rows: Sequence[RowMapping]) -> list[StoredJob]:
        ran = [row["last_run_id"] for row in rows if row["last_run_id"] is not None]
        last = rows_of(self._database, connection, ran) if ran else {}
        return [
            StoredJob(
                held=held,
                job=held.job,
                phase=_phase(row),
                last_run=last.get(row["last_run_id"]),
                known_through=row["known_through"],
            )
            for row in rows
            if (held := held_of(row)).job is not None
        ]


def known_pools(database: Database) -> frozenset[str]:
    """The pools that jobs name, and the default one."""
    with database.read() as connection:
        return frozenset({DEFAULT_POOL, *distinct(connection, jobs.c.pool)})


def _is_named(connection: Connection, pool: str, tenant: str) -> bool:
    """Whether a job of the tenant names the pool."""
    query = select(jobs.c.job_id).where(jobs.c.pool == pool, jobs.c.tenant == tenant)
    return connection.execute(query.limit(1)).first() is not None


def _jobs() -> Select[Any]:
    columns = select(jobs, completions.c.revision.label("completed_revision"))
    return columns.outerjoin_from(jobs, completions, IS_COMPLETED)


def _stored_jobs() -> Select[Any]:
    last_run_id, known_through = newest_of(jobs)
    return _jobs().add_columns(
        last_run_id.label("last_run_id"), known_through.label("known_through")
    )


def _conditions(wanted: JobFilter) -> list[JobIds]:
    """Those that an index can answer."""
    conditions = tagged(wanted.tenant, wanted.tags)
    if wanted.owner is not None:
        conditions.append(owned(wanted.tenant, wanted.owner))
    if wanted.status == "paused":
        conditions.append(paused(wanted.tenant))
    if wanted.text is not None:
        conditions += worded(wanted.tenant, wanted.text)
    if wanted.status == "completed":
        conditions.append(ever_completed(wanted.tenant))
    return conditions


def _existing(tenant: str) -> ColumnElement[bool]:
    """The jobs of a tenant that are not deleted."""
    return and_(jobs.c.tenant == tenant, EXISTING)


def _filtered(wanted: JobFilter) -> Select[Any]:
    query = _jobs().where(_existing(wanted.tenant))
    for name, value in wanted.tags:
        query = query.where(has_tag(jobs, name, value))
    if wanted.status == "paused":
        query = query.where(jobs.c.status == "paused")
    elif wanted.status is not None:
        is_completed = completions.c.revision.is_not(None)
        query = query.where(
            jobs.c.status == "active",
            is_completed if wanted.status == "completed" else ~is_completed,
        )
    if wanted.owner is not None:
        query = query.where(jobs.c.owner == wanted.owner)
    if wanted.text is not None:
        query = query.where(*matches(wanted.text))
    return query


def _phase(row: RowMapping) -> Phase:
    if row["status"] == "paused":
        return "paused"
    return "active" if row["completed_revision"] is None else "completed"
