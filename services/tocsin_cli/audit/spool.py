"""Facts on disk, in the order of jobs: what is read partition by partition of the log is judged
job by job, however much it is.

The file lies in the system's folder for temporary files and goes with the audit.
"""

import sqlite3
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple, Self

from tocsin_cli.audit.accounts import Fact, Kind

_BATCH = 5_000
_STANDING = -2
_ACCEPTED = -1
_SELECT = "SELECT key, kind, at, last, number, event FROM facts_{} ORDER BY key, min(kind, 0), at"
_INSERT = "INSERT INTO facts_{} VALUES (?, ?, ?, ?, ?, ?)"

Row = tuple[str, int, int, int, int, bytes | None]


class JobFacts(NamedTuple):
    """One job. events: its `accepted` events in the order of the log, encoded. standing: what
    stood before the first of them, in the same form, if that is known. facts: in the order of
    nominal times, read from disk as they are asked for."""

    key: str
    standing: bytes | None
    events: list[bytes]
    facts: Iterator[Fact]


class Spool:
    """Rows go in in any order, for each partition; each partition's jobs come out once."""

    def __init__(self, partitions: int) -> None:
        self._folder = TemporaryDirectory(prefix="tocsin-audit-")
        self._db = sqlite3.connect(Path(self._folder.name) / "facts", isolation_level=None)
        self._rows: dict[int, list[Row]] = {}
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "temp_store=FILE"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("PRAGMA cache_size=-32768")
        for partition in range(partitions):
            self._rows[partition] = []
            self._db.execute(
                f"CREATE TABLE facts_{partition} (key TEXT, kind INT, at INT, last INT, number INT,"
                " event BLOB)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._db.close()
        self._folder.cleanup()

    def add_event(self, partition: int, key: str, offset: int, event: bytes) -> None:
        """An `accepted` event of the job, at its place in the log."""
        self._add(partition, (key, _ACCEPTED, offset, 0, 0, event))

    def add_standing(self, partition: int, key: str, offset: int, event: bytes) -> None:
        """A definition from the jobs topic, at its place there; the last one counts."""
        self._add(partition, (key, _STANDING, offset, 0, 0, event))

    def add(self, partition: int, key: str, fact: Fact) -> None:
        self._add(partition, (key, fact.kind, fact.nominal, fact.last, fact.number, None))

    def jobs(self, partition: int) -> Iterator[JobFacts]:
        """In the order of keys. What one yields must be read before the next."""
        self._flush(partition)
        rows = self._db.execute(_SELECT.format(partition))
        for key, mine in groupby(rows, key=_key):
            yield _job(key, mine)

    def _add(self, partition: int, row: Row) -> None:
        rows = self._rows[partition]
        rows.append(row)
        if len(rows) >= _BATCH:
            self._flush(partition)

    def _flush(self, partition: int) -> None:
        rows = self._rows[partition]
        self._db.execute("BEGIN")
        self._db.executemany(_INSERT.format(partition), rows)
        self._db.execute("COMMIT")
        rows.clear()


def _key(row: Row) -> str:
    return row[0]


def _job(key: str, rows: Iterator[Row]) -> JobFacts:
    """Definitions come first among a job's rows."""
    standing, events = None, []
    for row in rows:
        if row[1] == _STANDING:
            standing = row[5]
        elif row[1] == _ACCEPTED:
            events.append(row[5] or b"")
        else:
            return JobFacts(key, standing, events, map(_fact, chain([row], rows)))
    return JobFacts(key, standing, events, iter(()))


def _fact(row: Row) -> Fact:
    _, kind, at, last, number, _ = row
    return Fact(at, Kind(kind), last, number)
