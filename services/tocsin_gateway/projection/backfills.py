"""Backfills: who asked for which slots, and how far they have come."""

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from sqlalchemy import Connection, RowMapping, func, select

from tocsin.model.jobs import Overlap
from tocsin.model.keys import JobKey
from tocsin.model.values import Value
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.facts import SignalFact
from tocsin_gateway.projection.tables import OF_BACKFILL, backfills, events

BackfillStatus = Literal["requested", "running", "finished", "cancelled", "rejected"]

_MOST = 100
_SKEW_MS = 3_600_000

_Told: TypeAlias = Mapping[tuple[str, str], tuple[int, int]]
"""(type, reason) of events -> time of the first, and how many slots they count."""


class Backfill(Value, frozen=True):
    """A backfill that was asked for.

    accounted: slots that have a run or a recorded reason. started_time, finished_time: by the
    scheduler's clock; None = not yet. reason: why it ended before its last slot.
    """

    backfill_id: str
    job_id: str
    requested_time: int
    from_time: int
    to_time: int
    slots: int | None
    overlap: Overlap | None
    accounted: int = 0
    started_time: int | None = None
    finished_time: int | None = None
    reason: str | None = None

    @property
    def status(self) -> BackfillStatus:
        if self.finished_time is None:
            return "requested" if self.started_time is None else "running"
        match self.reason:
            case None:
                return "finished"
            case "cancelled":
                return "cancelled"
        return "rejected"


class BackfillReads:
    """Answers about backfills. Every call blocks on the database; for any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_job(self, key: JobKey) -> list[Backfill]:
        """The newest ones first, a hundred at the most."""
        query = select(backfills).where(
            backfills.c.tenant == key.tenant, backfills.c.job_id == key.job_id
        )
        query = query.order_by(backfills.c.requested_time.desc()).limit(_MOST)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
            told = _told(connection, key, rows[-1]["requested_time"]) if rows else {}
        return [_backfill(row, told) for row in rows]

    def find(self, tenant: str, backfill_id: str) -> Backfill | None:
        """One backfill of the tenant."""
        query = select(backfills).where(
            backfills.c.tenant == tenant, backfills.c.backfill_id == backfill_id
        )
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
            if row is None:
                return None
            key = JobKey(tenant, row["job_id"])
            return _backfill(row, _told(connection, key, row["requested_time"]))


def store_backfills(
    database: Database, connection: Connection, facts: Iterable[SignalFact]
) -> None:
    """Keep the signals that ask for backfills."""
    rows = [
        (
            fact.key.tenant,
            fact.signal.signal_id,
            fact.key.job_id,
            fact.time,
            fact.signal.from_time,
            fact.signal.to_time,
            fact.slots,
            fact.signal.overlap,
        )
        for fact in facts
        if fact.signal.signal == "backfill"
    ]
    database.upsert(connection, backfills, rows)


def _told(connection: Connection, key: JobKey, since: int) -> _Told:
    query = select(
        events.c.type,
        events.c.reason,
        func.min(events.c.time).label("first"),
        func.sum(events.c.count).label("slots"),
    ).where(
        events.c.tenant == key.tenant,
        events.c.job_id == key.job_id,
        events.c.time >= since - _SKEW_MS,
        OF_BACKFILL,
    )
    rows = connection.execute(query.group_by(events.c.type, events.c.reason))
    return {(row.type, row.reason): (row.first, int(row.slots)) for row in rows}


def _backfill(row: RowMapping, told: _Told) -> Backfill:
    name: str = row["backfill_id"]
    started = told.get(("backfill_started", name))
    ends = [
        (first, reason)
        for (kind, reason), (first, _) in told.items()
        if kind == "backfill_finished" and reason.startswith(name)
    ]
    finished_time, reason = min(ends, default=(None, name))
    return Backfill(
        **{column: row[column] for column in row if column != "tenant"},
        accounted=told.get(("backfill_progress", name), (0, 0))[1],
        started_time=started and started[0],
        finished_time=finished_time,
        reason=reason[len(name) + 2 :] or None,
    )
