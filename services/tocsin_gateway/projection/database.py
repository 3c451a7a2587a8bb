"""The SQL database under the read model: one transaction writes at a time, any number read."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import (
    Column,
    ColumnClause,
    ColumnElement,
    Connection,
    Engine,
    RowMapping,
    Select,
    Table,
    TableValuedAlias,
    Text,
    any_,
    bindparam,
    func,
    literal_column,
    select,
    tuple_,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy import column as plain_column
from sqlalchemy.dialects import postgresql

from tocsin_gateway.projection import tables
from tocsin_gateway.projection.engines import for_reading, for_writing, move_log
from tocsin_gateway.projection.generations import Generations
from tocsin_gateway.projection.upserts import Row, Upserts

Pair: TypeAlias = tuple[str | int, str | int]
T = TypeVar("T")

_CHUNK = 500
_VALUE: ColumnClause[str] = plain_column("value", Text)


class Database:
    """A read model and the few statements in which dialects differ. Safe to share by threads."""

    def __init__(self, generations: Generations, generation: int) -> None:
        self._use(generations.engine(generation))
        self.generation = generation
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._generations = generations
        self._upserts = Upserts(self.engine.dialect)
        self._lookups: dict[str, str] = {}
        self._listed: dict[str, Select[Any]] = {}

    def begin(self) -> AbstractContextManager[Connection]:
        """A transaction beside which no other writes, of whatever process: committed at the end of
        the block, rolled back by an exception."""
        return self._writer.begin()

    def read(self) -> AbstractContextManager[Connection]:
        """A connection that only reads; all it reads is of one moment."""
        return self._reader.connect()

    def follow(self, now: int) -> bool:
        """Take up the read model that this one was switched to: whether there is such. Who reads
        goes on with the old one for a moment."""
        current = self._generations.current(now)
        if current == self.generation:
            return False
        left = self.engine
        self._use(self._generations.engine(current))
        self.generation = current
        left.dispose()
        return True

    def _use(self, engine: Engine) -> None:
        self.engine = engine
        self._writer, self._reader = for_writing(engine), for_reading(engine)

    def touch(self, now: int) -> None:
        """Say that the read model is kept up, and remove those that nobody keeps up."""
        self._generations.touch(self.generation, now)
        self._generations.sweep(now)

    def move_log(self) -> None:
        """Keep SQLite's write-ahead log small; see `engines.move_log`. For a thread beside the
        writer's, every few seconds."""
        move_log(self.engine)

    def upsert(self, connection: Connection, table: Table, rows: Iterable[Row]) -> None:
        """Insert rows, each with a value for every column in the table's order; where the
        primary key is taken, replace the other columns but those that are fixed."""
        self._upserts.run(connection, table, list(rows))

    def among(self, column: ColumnElement[str], values: Iterable[str]) -> ColumnElement[bool]:
        """The rows whose column has one of the values: one parameter, however many they are.
        A NUL is in no column."""
        if self.is_sqlite:
            return column.in_(select(self.table_of(values).c.value))
        return column == any_(_array(values))

    def table_of(self, values: Iterable[str]) -> TableValuedAlias:
        """A table of one column, `value`: one parameter, however many rows. A NUL is in none."""
        if self.is_sqlite:
            return func.json_each(json.dumps(_storable_of(values))).table_valued(_VALUE)
        return func.unnest(_array(values)).table_valued(_VALUE).render_derived()

    def are_listed(self, one: Column[Any], other: Column[Any]) -> ColumnElement[bool]:
        """The rows of which two columns have one of the pairs of values in the parameter `listed`:
        see `pairs`."""
        return tuple_(one, other).in_(self.pairs(one, other))

    def pairs(self, one: Column[Any], other: Column[Any]) -> Select[Any]:
        """The pairs in the parameter `listed` (see `listing`), of values for two columns, as
        `first` and `second`: one parameter, however many they are."""
        text = bindparam("listed", type_=Text)
        if self.is_sqlite:
            pair = func.json_each(text).table_valued(_VALUE)
        else:
            each = func.json_array_elements(sql_cast(text, postgresql.JSON))
            pair = each.table_valued(_VALUE).render_derived()
        first, second = (pair.c.value.op("->>")(literal_column(at)) for at in ("0", "1"))
        return select(
            sql_cast(first, one.type).label("first"), sql_cast(second, other.type).label("second")
        )

    def gathered(self, connection: Connection, query: Select[Any]) -> list[tuple[Any, ...]]:
        """The texts and numbers that a query finds, as one row: with each row that SQLite gives, a
        thread lets the interpreter go, and thousands of them take seconds where others ask."""
        columns = query.subquery().c
        if self.is_sqlite:
            rows = func.json_group_array(func.json_array(*columns))
        else:
            rows = func.json_agg(func.json_build_array(*columns))
        found = connection.execute(select(rows)).scalar()
        return [
            tuple(row) for row in (json.loads(found) if isinstance(found, str) else found or ())
        ]

    def rows_listed(
        self, connection: Connection, one: Column[Any], other: Column[Any], pairs: Iterable[Pair]
    ) -> Sequence[RowMapping]:
        """The rows of a table of which two columns have one of the pairs of values: the statement
        is built once."""
        query = self._listed.get(one.table.name)
        if query is None:
            query = self._listed[one.table.name] = select(one.table).where(
                self.are_listed(one, other)
            )
        return connection.execute(query, listing(pairs)).mappings().all()

    def rows_among(
        self, connection: Connection, column: Column[str], values: Iterable[str]
    ) -> Sequence[Row]:
        """As `among`, the whole rows of the column's table, for the writer: the statement is built
        once."""
        name = f"{column.table.name}.{column.name}"
        statement = self._lookups.get(name)
        if statement is None:
            statement = self._lookups[name] = self._compile_lookup(column)
        wanted = _storable_of(values)
        if self.is_sqlite:
            return connection.exec_driver_sql(statement, (json.dumps(wanted),)).all()
        return connection.exec_driver_sql(statement, {"wanted": wanted}).all()

    def _compile_lookup(self, column: Column[str]) -> str:
        query = select(column.table)
        if self.is_sqlite:
            each = func.json_each(bindparam("wanted", type_=Text)).table_valued("value")
            query = query.where(column.in_(select(each.c.value)))
        else:
            query = query.where(column == any_(bindparam("wanted", type_=postgresql.ARRAY(Text))))
        return str(query.compile(self.engine))

    def close(self) -> None:
        self.engine.dispose()
        self._generations.close()


def open_database(url: str, now: int) -> Database:
    """The read model in use, its tables made where they are missing.

    Raises `DatabaseUnusable`, and SQLAlchemy's errors where the server does not answer.
    """
    generations = Generations(url)
    return Database(generations, generations.current(now))


@contextmanager
def rebuilding(url: str, now: int) -> Iterator[Database]:
    """An empty read model beside the one in use; at the end of the block it takes its place, after
    an exception it is removed. Raises what `open_database` raises."""
    generations = Generations(url)
    generation = generations.begin(now)
    database = Database(generations, generation)
    try:
        yield database
    except BaseException:
        database.engine.dispose()
        generations.drop(generation)
        raise
    else:
        generations.switch(generation)
    finally:
        database.close()


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite file, its directory made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path}"


def chunks(items: Iterable[T], size: int = _CHUNK) -> Iterable[list[T]]:
    """`items` in lists of at most `size`, for `IN` lists."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def listing(pairs: Iterable[Pair]) -> dict[str, str]:
    """The parameter of a statement with `Database.are_listed`. A NUL is in none of the pairs."""
    return {"listed": json.dumps(list(pairs))}


def distinct(connection: Connection, column: Column[str], first: str = "") -> Iterator[str]:
    """The values of an indexed column from `first` on, rising, each by one step in the index."""
    value = connection.execute(select(func.min(column)).where(column >= first)).scalar()
    while value is not None:
        yield value
        value = connection.execute(select(func.min(column)).where(column > value)).scalar()


def read_meta(connection: Connection) -> dict[str, str]:
    """What the read model says of itself."""
    rows = connection.execute(select(tables.meta.c.name, tables.meta.c.value))
    return {row.name: row.value for row in rows}


def _storable_of(values: Iterable[str]) -> list[str]:
    return [value for value in values if "\0" not in value]


def _array(values: Iterable[str]) -> ColumnElement[Sequence[str]]:
    return sql_cast(_storable_of(values), postgresql.ARRAY(Text))
