"""Writing rows by the thousand, as each of the two databases likes it best."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from typing import Any, Protocol, TypeAlias, cast

from sqlalchemy import Connection, Dialect, Table, TableClause, select
from sqlalchemy import column as plain_column
from sqlalchemy import table as table_clause
from sqlalchemy.dialects import postgresql, sqlite

Row: TypeAlias = Sequence[Any]

_AT_ONCE = (64, 32, 16, 8, 4, 2, 1)


class Upserts:
    """Inserts rows; where the primary key is taken, replaces the other columns but those that are
    fixed. Statements are Core's own, each built once; its rows go to the driver as they are."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._is_sqlite = dialect.name == "sqlite"
        self._statements: dict[tuple[str, int], str] = {}

    def run(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        """`rows`: each with a value for every column in the table's order."""
        if self._is_sqlite:
            self._run_in_parts(connection, table, rows)
        elif rows:
            _copy(connection, table, rows)
            connection.exec_driver_sql(self._statement(table, 1))

    def _run_in_parts(self, connection: Connection, table: Table, rows: Sequence[Row]) -> None:
        """Dozens of rows a statement: with each statement a thread lets the interpreter go, and has
        to queue for it again behind those that serve requests."""
        for part in _parts(rows):
            statement = self._statement(table, len(part))
            connection.exec_driver_sql(statement, tuple(chain.from_iterable(part)))

    def _statement(self, table: Table, size: int) -> str:
        """For so many rows, or, in PostgreSQL, for any number."""
        place = table.name, size
        statement = self._statements.get(place)
        if statement is None:
            statement = self._statements[place] = self._compile(table, size)
        return statement

    def _compile(self, table: Table, size: int) -> str:
        """To PostgreSQL the rows go by way of a temporary table, which is what makes thousands a
        second possible."""
        names = table.columns.keys()
        insert: sqlite.Insert | postgresql.Insert
        if self._is_sqlite:
            insert = sqlite.insert(table).values([dict.fromkeys(names)] * size)
        else:
            insert = postgresql.insert(table).from_select(names, select(_incoming(table)))
        key = [column.name for column in table.primary_key]
        kept = {*key, *(c.name for c in table.columns if c.info.get("fixed"))}
        changed = {name: insert.excluded[name] for name in names if name not in kept}
        if changed:
            statement = insert.on_conflict_do_update(index_elements=key, set_=changed)
        else:
            statement = insert.on_conflict_do_nothing()
        return str(statement.compile(dialect=self._dialect, column_keys=names))


def _parts(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """The rows in parts of few different sizes, the largest first."""
    at = 0
    for size in _AT_ONCE:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


class _CopyCursor(Protocol):
    """What is used of psycopg's cursor beyond the standard."""

    def execute(self, statement: str) -> object: ...

    def copy(self, statement: str) -> AbstractContextManager["_Copy"]: ...

    def close(self) -> None: ...


class _Copy(Protocol):
    def write_row(self, row: Sequence[Any]) -> None: ...


def _incoming(table: Table) -> TableClause:
    """The temporary table, one a connection, that rows for `table` pass through."""
    return table_clause(f"incoming_{table.name}", *(plain_column(c.name) for c in table.columns))


def _copy(connection: Connection, table: Table, rows: Sequence[Row]) -> None:
    """Fill the temporary table anew."""
    name = _incoming(table).name
    cursor = cast("_CopyCursor", connection.connection.cursor())
    try:
        cursor.execute(
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {name} (LIKE {table.name}) ON COMMIT DELETE ROWS"
        )
        cursor.execute(f"DELETE FROM {name}")  # noqa: S608 - a name of our own
        with cursor.copy(f"COPY {name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(_storable(row))
    finally:
        cursor.close()


def _storable(row: Row) -> Row:
    """PostgreSQL's text cannot hold NUL, which a worker's error message may."""
    if not any(type(value) is str and "\0" in value for value in row):
        return row
    return [value.replace("\0", "\ufffd") if isinstance(value, str) else value for value in row]
