"""Who did what: the records of the audit topic as rows, and reading them."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, delete, select

from tocsin.broker.port import Record
from tocsin.model.access import Audit
from tocsin.model.limits import INT_MAX
from tocsin.model.values import Value
from tocsin_gateway.projection.cursors import Position, read_cursor, write_cursor
from tocsin_gateway.projection.database import Database, chunks
from tocsin_gateway.projection.facts import AuditFact
from tocsin_gateway.projection.orders import Order, far
from tocsin_gateway.projection.tables import audit

_NEWEST_FIRST = Order((audit.c.time, audit.c.partition, audit.c.record_offset), falls=True)


class AuditFilter(Value, frozen=True):
    """Which records of a tenant: all conditions hold. since <= time < until."""

    tenant: str
    actor: str | None = None
    action: str | None = None
    object: str | None = None
    since: int | None = None
    until: int | None = None


class AuditRow(Value, frozen=True):
    """was_done: False = it was begun, and its end is not known."""

    entry: Audit
    was_done: bool


class AuditPage(Value, frozen=True):
    items: tuple[AuditRow, ...]
    next_cursor: str | None


class AuditReads:
    """Answers about the audit log. Every call blocks on the database; for any thread."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def page(self, wanted: AuditFilter, cursor: str | None, limit: int) -> AuditPage:
        """At most `limit` records after the cursor, newest first; fewer where the next ones are
        far. Raises `InvalidCursor`."""
        begin = None if cursor is None else _begin(cursor)
        with self._database.read() as connection:
            end = _reach(connection, wanted, begin)
            query = _NEWEST_FIRST.sort(select(audit)).where(
                *_in_index(wanted, begin, end), *_others(wanted)
            )
            rows = connection.execute(query.limit(limit + 1)).mappings().all()
        if len(rows) > limit:
            end = tuple(rows[limit - 1][column.name] for column in _NEWEST_FIRST.columns)
        return AuditPage(
            items=tuple(map(_row, rows[:limit])),
            next_cursor=None if end is None else write_cursor("audit", end),
        )


def _begin(cursor: str) -> Position:
    """No partition has a number beyond those that the column holds."""
    at, partition, offset = read_cursor("audit", cursor, int, int, int)
    return at, min(int(partition), INT_MAX), offset


def _reach(connection: Connection, wanted: AuditFilter, begin: Position | None) -> Position | None:
    """How far a page may look that begins after `begin`; None = to the end."""
    if not _others(wanted):
        return None
    return far(connection, _in_index(wanted, begin), _NEWEST_FIRST)


def _in_index(
    wanted: AuditFilter, begin: Position | None, end: Position | None = None
) -> list[ColumnElement[bool]]:
    """The conditions that an index answers in the order of the list."""
    conditions: list[ColumnElement[bool]] = [audit.c.tenant == wanted.tenant]
    if wanted.object is not None:
        conditions.append(audit.c.object == wanted.object)
    return conditions + _NEWEST_FIRST.within(begin, end, wanted.since, wanted.until)


def _others(wanted: AuditFilter) -> list[ColumnElement[bool]]:
    """Those for which rows have to be looked at."""
    asked = ((audit.c.actor, wanted.actor), (audit.c.action, wanted.action))
    return [column == value for column, value in asked if value is not None]


_FIELDS = Audit.__struct_fields__


def _row(row: RowMapping) -> AuditRow:
    entry = Audit(**{name: row[name] for name in _FIELDS})
    return AuditRow(entry=entry, was_done=row["begun_id"] is None)


def store_audit(
    database: Database, connection: Connection, found: Iterable[tuple[Record, AuditFact]]
) -> None:
    """Keep what was done, and what was begun and not ended yet. Records of one deed come in their
    order, since they share a partition."""
    begun: dict[str, tuple[Record, Audit]] = {}
    done: list[tuple[Record, Audit]] = []
    ended: list[str] = []
    for record, fact in found:
        stage, deed_id = fact.mark or ("done", "")
        if stage == "begun":
            begun[deed_id] = (record, fact.entry)
            continue
        if begun.pop(deed_id, None) is None:
            ended.append(deed_id)
        if stage == "done":
            done.append((record, fact.entry))
    for some in chunks(ended):
        connection.execute(delete(audit).where(audit.c.begun_id.in_(some)))
    rows = [_columns(record, entry, deed_id) for deed_id, (record, entry) in begun.items()]
    rows += [_columns(record, entry, None) for record, entry in done]
    database.upsert(connection, audit, rows)


def _columns(record: Record, entry: Audit, begun_id: str | None) -> tuple[object, ...]:
    return (record.partition, record.offset, *msgspec.structs.astuple(entry), begun_id)
