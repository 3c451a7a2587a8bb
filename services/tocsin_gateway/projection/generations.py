"""Read models beside one another in one database, of which one is current.

Each version of the tables has its own, so that a gateway of a new version builds it while those
of the old one go on serving theirs. A rebuild builds a new generation beside the one in use;
gateways take it up when it has been switched to. In SQLite a generation is a file beside the file
of the URL, in PostgreSQL a schema. What nobody has kept up for an hour is removed.
"""

from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.schema import CreateSchema, DropSchema

from tocsin_gateway.projection import tables
from tocsin_gateway.projection.engines import make_engine, reading, writing

ABANDONED_MS = 3_600_000
"""A gateway that runs says once a minute which read model it keeps up."""

_metadata = MetaData()
_models = Table(
    "tocsin_read_models",
    _metadata,
    Column("version", Text, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("is_current", Integer, nullable=False),
    Column("touched_time", BigInteger, nullable=False),
    PrimaryKeyConstraint("version", "generation"),
)


class Generations:
    """The read models of a database. Every call blocks on it and raises SQLAlchemy's errors."""

    def __init__(self, url: str, *, version: str = tables.SCHEMA_VERSION) -> None:
        """Raises `DatabaseUnusable`."""
        self._url = url
        self._of_version = _models.c.version == version
        self._version = version
        self._registry = make_engine(url)
        with writing(self._registry) as connection:
            _metadata.create_all(connection)

    def current(self, now: int) -> int:
        """The one of this version that is in use; where there is none, a new one."""
        query = select(_models.c.generation).where(self._of_version, _models.c.is_current == 1)
        with reading(self._registry) as connection:
            found: int | None = connection.execute(query).scalar()
        if found is not None:
            return found
        with writing(self._registry) as connection:
            found = connection.execute(query).scalar()
            return self._add(connection, now, is_current=1) if found is None else found

    def begin(self, now: int) -> int:
        """A new one beside the current."""
        with writing(self._registry) as connection:
            return self._add(connection, now, is_current=0)

    def switch(self, generation: int) -> None:
        """Make it the current one."""
        is_current = (_models.c.generation == generation).cast(Integer)
        with writing(self._registry) as connection:
            connection.execute(
                update(_models).where(self._of_version).values(is_current=is_current)
            )

    def touch(self, generation: int, now: int) -> None:
        """Say that it is being kept up."""
        meant = self._of_version & (_models.c.generation == generation)
        with writing(self._registry) as connection:
            connection.execute(update(_models).where(meant).values(touched_time=now))

    def engine(self, generation: int) -> Engine:
        """Its tables, made where they are missing."""
        if self._registry.dialect.name == "sqlite":
            engine = make_engine(f"sqlite:///{self._file(self._version, generation)}")
        else:
            schema = _schema(self._version, generation)
            with writing(self._registry) as connection:
                connection.execute(CreateSchema(schema, if_not_exists=True))
            engine = make_engine(self._url, schema=schema)
        with writing(engine) as connection:
            tables.metadata.create_all(connection)
        return engine

    def sweep(self, now: int) -> None:
        """Remove those, of whatever version, that nobody keeps up; never the current one."""
        is_old = _models.c.touched_time < now - ABANDONED_MS
        with reading(self._registry) as connection:
            rows = connection.execute(select(_models).where(is_old)).all()
        for row in rows:
            if not (row.is_current and row.version == self._version):
                self.drop(row.generation, row.version)

    def drop(self, generation: int, version: str | None = None) -> None:
        """Remove one, by default of this version."""
        version = self._version if version is None else version
        meant = (_models.c.version == version) & (_models.c.generation == generation)
        with writing(self._registry) as connection:
            connection.execute(delete(_models).where(meant))
            if not self._is_sqlite:
                schema = _schema(version, generation)
                connection.execute(DropSchema(schema, cascade=True, if_exists=True))
        if self._is_sqlite:
            file = self._file(version, generation)
            for suffix in ("", "-wal", "-shm"):
                Path(f"{file}{suffix}").unlink(missing_ok=True)

    def close(self) -> None:
        self._registry.dispose()

    @property
    def _is_sqlite(self) -> bool:
        return self._registry.dialect.name == "sqlite"

    def _add(self, connection: Connection, now: int, *, is_current: int) -> int:
        newest = select(func.max(_models.c.generation)).where(self._of_version)
        generation = (connection.execute(newest).scalar() or 0) + 1
        values = (self._version, generation, is_current, now)
        connection.execute(insert(_models).values(values))
        return generation

    def _file(self, version: str, generation: int) -> Path:
        base = Path(self._registry.url.database or "")
        return base.with_name(f"{base.stem}.{version}.{generation}{base.suffix}")


def _schema(version: str, generation: int) -> str:
    return f"tocsin_{version}_{generation}"
