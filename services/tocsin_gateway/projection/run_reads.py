"""Reading the history from the read model."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, ScalarSelect, Select, Table, select

from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin.model.runs import RunStatus
from tocsin.model.values import Value
from tocsin_gateway.projection import narrowing
from tocsin_gateway.projection.attempts import Attempt
from tocsin_gateway.projection.cursors import Position, read_cursor, write_cursor
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.filters import has_tag, of_job, of_row
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.narrowing import few_jobs, handled, tagged
from tocsin_gateway.projection.orders import Order, far
from tocsin_gateway.projection.run_merge import newest_first
from tocsin_gateway.projection.tables import (
    ORDINARY_STATUS,
    RARE_STATUS,
    attempts,
    dead_letters,
    events,
    runs,
)

_MOST_DETAILS = 1_000
_NOT_RUN = ("skipped", "missed")
_BY_TIME = Order((runs.c.scheduled_time, runs.c.run_id), falls=True)
_FROM_OLDEST = Order((runs.c.scheduled_time, runs.c.run_id))
_OF_JOB = Order((runs.c.run_id,), falls=True)


class RunFilter(Value, frozen=True):
    """Which runs of a tenant: all conditions hold. since <= scheduled time < until."""

    tenant: str
    job_id: str | None = None
    statuses: tuple[RunStatus, ...] = ()
    tags: tuple[tuple[str, str | None], ...] = ()
    handler: str | None = None
    since: int | None = None
    until: int | None = None

    @property
    def needs_looking(self) -> bool:
        """Rows have to be looked at that no index leads to."""
        if self.job_id is not None:
            return False
        is_common = bool(self.statuses) and not self.streams
        return bool(self.tags) or self.handler is not None or is_common

    @property
    def streams(self) -> tuple[RunStatus, ...]:
        """The statuses, where an index has the tenant's runs of each of them in order."""
        if self.job_id is not None or ORDINARY_STATUS in self.statuses:
            return ()
        return tuple(dict.fromkeys(self.statuses))


class RunPage(Value, frozen=True):
    items: tuple[RunRow, ...]
    next_cursor: str | None


class RunDetail(Value, frozen=True):
    """One run with its newest attempts and events, in their order."""

    row: RunRow
    attempts: tuple[Attempt, ...]
    events: tuple[Event, ...]


class RunReads:
    """Answers about runs. Every call blocks on the database; for any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def row(self, run_id: str) -> RunRow | None:
        with self._database.read() as connection:
            found = connection.execute(select(runs).where(runs.c.run_id == run_id)).mappings()
            row = found.first()
        return None if row is None else RunRow(**row)

    def detail(self, run_id: str) -> RunDetail | None:
        with self._database.read() as connection:
            row = connection.execute(select(runs).where(runs.c.run_id == run_id)).mappings().first()
            if row is None:
                return None
            return RunDetail(
                row=RunRow(**row),
                attempts=_attempts(connection, run_id),
                events=run_events(connection, run_id),
            )

    def events(self, run_id: str) -> tuple[Event, ...]:
        """The newest events that name the run, in their order."""
        with self._database.read() as connection:
            return run_events(connection, run_id)

    def dead_letter(self, run_id: str) -> bytes | None:
        """The dead record of a run, in Avro."""
        with self._database.read() as connection:
            query = select(dead_letters.c.record).where(dead_letters.c.run_id == run_id)
            return connection.execute(query).scalar()

    def ids(
        self,
        wanted: RunFilter,
        statuses: Sequence[RunStatus],
        limit: int,
        after: Position | None = None,
    ) -> list[str]:
        """The ids of at most `limit` runs that match and are one of `statuses`, oldest first; only
        those behind a scheduled time and id."""
        if not statuses:
            return []
        wanted = msgspec.structs.replace(wanted, statuses=tuple(statuses))
        with self._database.read() as connection:
            few = _few(self._database, connection, wanted)
            behind = _FROM_OLDEST.within(after, None, wanted.since, wanted.until)
            if few is None and wanted.streams:
                found = _of_streams(connection, wanted, _FROM_OLDEST, behind, limit)
                return [str(run_id) for _, run_id in found]
            query = _filtered(wanted) if few is None else _matching(wanted)
            query = query.with_only_columns(runs.c.run_id).where(*behind)
            if few is not None:
                ids = list(newest_first(self._database, connection, wanted.tenant, few, query))
                return ids[: -limit - 1 : -1]
            return list(connection.execute(_FROM_OLDEST.sort(query).limit(limit)).scalars())

    def page(self, wanted: RunFilter, cursor: str | None, limit: int) -> RunPage:
        """At most `limit` runs after the cursor, newest first; fewer where the next ones are far.
        The order never changes, so a run that is there all the time is on exactly one page. Raises
        `InvalidCursor`."""
        begin = None if cursor is None else read_cursor("runs", cursor, int, str)
        with self._database.read() as connection:
            few = _few(self._database, connection, wanted)
            if few is None:
                found, end = self._in_order(connection, wanted, begin, limit)
            else:
                behind = _BY_TIME.within(begin, None, wanted.since, wanted.until)
                query = _matching(wanted).with_only_columns(runs.c.run_id).where(*behind)
                end = None
                ids = newest_first(self._database, connection, wanted.tenant, few, query)
                found = self._load(connection, list(islice(ids, limit + 1)))
        if len(found) > limit:
            end = (found[limit - 1].scheduled_time, found[limit - 1].run_id)
        return RunPage(
            items=tuple(found[:limit]),
            next_cursor=None if end is None else write_cursor("runs", end),
        )

    def _in_order(
        self, connection: Connection, wanted: RunFilter, begin: Position | None, limit: int
    ) -> tuple[list[RunRow], Position | None]:
        """Up to one more than `limit`, and how far was looked where that was not to the end."""
        end = _reach(connection, wanted, begin)
        within = _BY_TIME.within(begin, end, wanted.since, wanted.until)
        if wanted.streams:
            places = _of_streams(connection, wanted, _BY_TIME, within, limit + 1)
            return self._load(connection, [str(run_id) for _, run_id in places]), end
        order = _BY_TIME if wanted.job_id is None else _OF_JOB
        query = order.sort(_filtered(wanted)).where(*within).limit(limit + 1)
        return [RunRow(**row) for row in connection.execute(query).mappings()], end

    def _load(self, connection: Connection, run_ids: Sequence[str]) -> list[RunRow]:
        rows = rows_of(self._database, connection, run_ids)
        return [rows[run_id] for run_id in run_ids]


def run_events(connection: Connection, run_id: str) -> tuple[Event, ...]:
    """The newest events that name the run, in their order."""
    columns = [column for column in events.columns if column.name in Event.__struct_fields__]
    newest = select(*columns).where(events.c.run_id == run_id)
    newest = newest.order_by(events.c.record_offset.desc()).limit(_MOST_DETAILS)
    rows = connection.execute(newest).mappings().all()
    return tuple(Event(**row) for row in reversed(rows))


def newest_of(job: Table) -> tuple[ScalarSelect[str], ScalarSelect[int]]:
    """For each row of a query over jobs: the id of its newest run, without occurrences that did not
    run; and the newest scheduled time of which it is known what became of it, without what was
    asked for beside the schedule."""
    ran = select(runs.c.run_id).where(of_row(job), runs.c.status.not_in(_NOT_RUN))
    of_schedule = runs.c.cause.is_(None) | (runs.c.cause != "manual")
    known = select(runs.c.scheduled_time).where(of_row(job), of_schedule)
    newest = runs.c.run_id.desc()
    return (
        ran.order_by(newest).limit(1).scalar_subquery(),
        known.order_by(newest).limit(1).scalar_subquery(),
    )


def rows_of(
    database: Database, connection: Connection, run_ids: Iterable[str]
) -> dict[str, RunRow]:
    """Rows by their ids."""
    found = connection.execute(select(runs).where(database.among(runs.c.run_id, run_ids)))
    return {row["run_id"]: RunRow(**row) for row in found.mappings()}


def _attempts(connection: Connection, run_id: str) -> tuple[Attempt, ...]:
    newest = select(attempts).where(attempts.c.run_id == run_id)
    newest = newest.order_by(attempts.c.attempt.desc()).limit(_MOST_DETAILS)
    rows = connection.execute(newest).mappings().all()
    return tuple(Attempt(**row) for row in reversed(rows))


def _reach(connection: Connection, wanted: RunFilter, begin: Position | None) -> Position | None:
    """How far a page may look that begins after `begin`; None = to the end."""
    if not wanted.needs_looking:
        return None
    of_tenant = [runs.c.tenant == wanted.tenant]
    of_tenant += _BY_TIME.within(begin, None, wanted.since, wanted.until)
    if not wanted.streams:
        return far(connection, of_tenant, _BY_TIME)
    ends = [
        far(
            connection,
            [*of_tenant, runs.c.status == status, RARE_STATUS],
            _BY_TIME,
            part=len(wanted.streams),
        )
        for status in wanted.streams
    ]
    return max((end for end in ends if end is not None), default=None)


def _of_streams(
    connection: Connection,
    wanted: RunFilter,
    order: Order,
    within: Iterable[ColumnElement[bool]],
    limit: int,
) -> list[Position]:
    """The times and ids of the first runs within those bounds. Of each status, which an index has
    in order, no more are read; of several at once a database would read the tenant's history."""
    found: list[Position] = []
    for status in wanted.streams:
        of_one = _filtered(msgspec.structs.replace(wanted, statuses=(status,)))
        query = order.sort(of_one.with_only_columns(*order.columns)).where(*within).limit(limit)
        found += (tuple(row) for row in connection.execute(query))
    return order.sorted_after(None, found)[:limit]


def _few(database: Database, connection: Connection, wanted: RunFilter) -> list[str] | None:
    """The jobs that the runs can be of, where those are few and not said."""
    if wanted.job_id is not None:
        return None
    conditions = tagged(wanted.tenant, wanted.tags)
    if wanted.handler is not None:
        conditions.append(handled(wanted.tenant, wanted.handler))
    return few_jobs(database, connection, conditions, narrowing.MOST_JOBS)


def _filtered(wanted: RunFilter) -> Select[Any]:
    query = _matching(wanted)
    if wanted.job_id is None:
        return query.where(runs.c.tenant == wanted.tenant)
    return query.where(of_job(JobKey(wanted.tenant, wanted.job_id)))


def _matching(wanted: RunFilter) -> Select[Any]:
    """Of whatever tenant, job and time."""
    query = select(runs)
    if wanted.statuses:
        query = query.where(runs.c.status.in_(wanted.statuses))
        if ORDINARY_STATUS not in wanted.statuses:
            query = query.where(RARE_STATUS)
    for name, value in wanted.tags:
        query = query.where(has_tag(runs, name, value))
    if wanted.handler is not None:
        query = query.where(runs.c.handler == wanted.handler)
    return query
