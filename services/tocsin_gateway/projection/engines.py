"""Connections to the SQL database: SQLite embedded, PostgreSQL by URL.

In SQLite the write-ahead log lets readers go on while the writer commits. A commit is not forced
to disk (`synchronous=NORMAL`, in PostgreSQL `synchronous_commit=off`): what a power cut takes back
is read from the log again, rows and offsets together. What SQLite's log has gathered is moved into
its file beside the writer (`move_log`): a commit that had to do it would take a fifth of a second.
"""

from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

_BUSY_MS = 10_000
_BRIEF_MS = 50
_MOST_PAGES = 65_536
"""Of 4 KiB: with so many in the log a commit moves them, where nobody has done it before."""

_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    f"PRAGMA busy_timeout={_BUSY_MS}",
    f"PRAGMA wal_autocheckpoint={_MOST_PAGES}",
    "PRAGMA temp_store=MEMORY",
    "PRAGMA cache_size=-8192",
)
_OPTIONS = "-c synchronous_commit=off -c jit=off"
"""Queries are short; compiling one whose cost is overestimated takes longer than it does."""

_WRITES = "tocsin_writes"
_ONE_WRITER = text("SELECT pg_advisory_xact_lock(hashtext(current_schema()))")


class DatabaseUnusable(Exception):
    """The database URL or what it points to cannot be used; the message says why."""


def make_engine(url: str, *, schema: str | None = None) -> Engine:
    """An engine that connects when it is first used. `schema`: of PostgreSQL, by default the
    connection's own.

    Raises `DatabaseUnusable` for a URL that is none, a driver that is not installed, or a
    database of another dialect than SQLite and PostgreSQL.
    """
    try:
        parsed = make_url(url)
        match parsed.get_backend_name():
            case "sqlite":
                return _sqlite(parsed)
            case "postgresql":
                return _postgresql(parsed, schema)
    except ArgumentError as error:
        raise DatabaseUnusable(
            f"not a database URL; expected sqlite:///path or postgresql://host/name: {error}"
        ) from None
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise DatabaseUnusable(f"no driver for this database is installed: {error}") from None
    raise DatabaseUnusable(f"{parsed.drivername}: expected a sqlite or postgresql URL")


def writing(engine: Engine) -> AbstractContextManager[Connection]:
    """A transaction beside which no other writes, in whatever process; committed at the end of
    the block, rolled back by an exception."""
    return for_writing(engine).begin()


def reading(engine: Engine) -> AbstractContextManager[Connection]:
    """A connection that only reads; all it reads is of one moment."""
    return for_reading(engine).connect()


def move_log(engine: Engine) -> None:
    """Move what the write-ahead log of SQLite holds into the file, and let the log begin anew, so
    that it stays small. Writers wait for the last of it only, and for readers of earlier moments
    50 ms at most; readers never. Raises `sqlite3.Error`.
    """
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        cursor.execute(f"PRAGMA busy_timeout={_BRIEF_MS}")
        cursor.execute("PRAGMA wal_checkpoint(RESTART)").fetchall()
    finally:
        connection.cursor().execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        connection.close()


def for_writing(engine: Engine) -> Engine:
    """The engine of which each transaction is one of `writing`."""
    return engine.execution_options(**{_WRITES: True})


def for_reading(engine: Engine) -> Engine:
    """The engine of which each connection is one of `reading`."""
    if engine.dialect.name == "postgresql":
        return engine.execution_options(isolation_level="REPEATABLE READ")
    return engine


def _postgresql(url: URL, schema: str | None) -> Engine:
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    arguments: dict[str, Any] = {}
    if schema is not None:
        own = f"-c search_path={schema} {_OPTIONS}"
        arguments["options"] = f"{url.query.get('options', '')} {own}".strip()
    engine = create_engine(url, pool_size=20, pool_pre_ping=True, connect_args=arguments)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get(_WRITES):
            connection.execute(_ONE_WRITER)

    return engine


def _sqlite(url: URL) -> Engine:
    """Each connection has a cache of its own, of 8 MiB, so those used last are used again; what is
    not there is read from the system's cache."""
    arguments = {"check_same_thread": False, "cached_statements": 512}
    engine = create_engine(url, pool_size=50, pool_use_lifo=True, connect_args=arguments)

    @event.listens_for(engine, "connect")
    def prepare(connection: DBAPIConnection, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in _PRAGMAS:
            cursor.execute(pragma)
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        is_writing = connection.get_execution_options().get(_WRITES)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")

    return engine
