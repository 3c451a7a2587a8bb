"""Who did what: the records of the audit topic as rows, and reading them."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Connection, RowMapping, and_, delete, select

from tocsin.broker.port import Record
from tocsin.model.access import Audit
from tocsin.model.values import Value
from tocsin_gateway.projection.cursors import read_cursor, write_cursor
from tocsin_gateway.projection.database import Database, chunks
from tocsin_gateway.projection.facts import AuditFact
from tocsin_gateway.projection.tables import audit


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
        """At most `limit` records after the cursor, newest first. Raises `InvalidCursor`."""
        place = (audit.c.time, audit.c.partition, audit.c.record_offset)
        query = select(audit).where(audit.c.tenant == wanted.tenant)
        for column in (audit.c.actor, audit.c.action, audit.c.object):
            value = getattr(wanted, column.name)
            query = query if value is None else query.where(column == value)
        if wanted.since is not None:
            query = query.where(audit.c.time >= wanted.since)
        if wanted.until is not None:
            query = query.where(audit.c.time < wanted.until)
        if cursor is not None:
            at, partition, offset = read_cursor("audit", cursor, int, int, int)
            within = and_(audit.c.partition == partition, audit.c.record_offset < offset)
            same = and_(audit.c.time == at, (audit.c.partition < partition) | within)
            query = query.where((audit.c.time < at) | same)
        query = query.order_by(*(column.desc() for column in place)).limit(limit + 1)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        items = tuple(map(_row, rows[:limit]))
        if len(rows) <= limit:
            return AuditPage(items=items, next_cursor=None)
        last = tuple(rows[limit - 1][column.name] for column in place)
        return AuditPage(items=items, next_cursor=write_cursor("audit", last))


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
