"""Facts on disk, in the order of jobs: what is read partition by partition of the log is judged
job by job, however much it is.

The file lies in the system's folder for temporary files and goes with the audit.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from tocsin_cli.audit.accounts import Fact, Kind

_BATCH = 5_000
_STANDING = -2
_ACCEPTED = -1
_SELECT = "SELECT key, kind, at, last, number, event FROM facts_{} ORDER BY key, min(kind, 0), at"
_INSERT = "INSERT INTO facts_{} VALUES (?, ?, ?, ?, ?, ?)"

_ENCODER = msgspec.msgpack.Encoder()
_FACTS = msgspec.msgpack.Decoder(list[Fact])

Row = tuple[str, int, int, int, int, bytes | None]


class Stated(NamedTuple):
    """An `accepted` event, encoded, and its place in the partition."""

    offset: int
    event: bytes


class JobFacts(NamedTuple):
    """One job. events: its `accepted` events in the order of the log. standing: what stood before
    the first of them, in the same form and with its place in the jobs topic, if that is known.
    facts: in the order of nominal times, read from disk as they are asked for."""

    key: str
    standing: Stated | None
    events: list[Stated]
    facts: Iterator[Fact]


class Repeated(NamedTuple):
    """An occurrence whose first attempt was emitted `runs` times and handed back `returned`
    times."""

    key: str
    scheduled_time: int
    runs: int
    returned: int


class Spool:
    """Rows go in in any order, for each partition; each partition's jobs come out once. What is
    open is given by reference, of which the last counts."""

    def __init__(self, partitions: int) -> None:
        self._folder = TemporaryDirectory(prefix="tocsin-audit-")
        self._db = sqlite3.connect(Path(self._folder.name) / "facts", isolation_level=None)
        self._rows: dict[int, list[Row]] = {}
        self._open: dict[tuple[int, bytes], list[Fact]] = {}
        for pragma in ("journal_mode=OFF", "synchronous=OFF", "temp_store=FILE"):
            self._db.execute(f"PRAGMA {pragma}")
        self._db.execute("PRAGMA cache_size=-32768")
        for partition in range(partitions):
            self._rows[partition] = []
            self._db.execute(
                f"CREATE TABLE facts_{partition} (key TEXT, kind INT, at INT, last INT, number INT,"
                " event BLOB)"
            )
        self._db.execute(
            "CREATE TABLE open (place INT, ref BLOB, facts BLOB, PRIMARY KEY (place, ref))"
            " WITHOUT ROWID"
        )
        for name in ("repeated", "returned"):
            self._db.execute(f"CREATE TABLE {name} (key TEXT, at INT, number INT)")

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

    def put_open(self, partition: int, ref: bytes, facts: list[Fact]) -> None:
        """What is open of a job or a run, in place of what was."""
        self._open[partition, ref] = facts
        if len(self._open) >= _BATCH:
            self._flush_open()

    def close_open(self) -> None:
        """What is open by now are facts like the others."""
        self._flush_open()
        rows = self._db.execute("SELECT place, ref, facts FROM open")
        while some := rows.fetchmany(_BATCH):
            for partition, ref, data in some:
                key = ref.partition(b"#")[0].decode("utf-8", "replace")
                for fact in _FACTS.decode(data):
                    self.add(partition, key, fact)

    def add_repeated(self, key: str, scheduled_time: int, runs: int) -> None:
        """Of the partition that is being judged."""
        self._db.execute("INSERT INTO repeated VALUES (?, ?, ?)", (key, scheduled_time, runs))

    @property
    def has_repeated(self) -> bool:
        return self._db.execute("SELECT 1 FROM repeated LIMIT 1").fetchone() is not None

    def add_returned(self, occurrences: Iterable[tuple[str, int]]) -> None:
        """First attempts that were handed back, each as often as it was."""
        rows = [(key, at, 1) for key, at in occurrences]
        self._db.executemany("INSERT INTO returned VALUES (?, ?, ?)", rows)

    def take_repeated(self) -> Iterator[Repeated]:
        """Those of the partition that has been judged; all are gone afterwards."""
        self._db.execute("CREATE INDEX returned_at ON returned (key, at)")
        yield from map(
            Repeated._make,
            self._db.execute(
                "SELECT key, at, number, (SELECT coalesce(sum(number), 0) FROM returned"
                " WHERE returned.key = repeated.key AND returned.at = repeated.at) FROM repeated"
            ),
        )
        for statement in ("DROP INDEX returned_at", "DELETE FROM repeated", "DELETE FROM returned"):
            self._db.execute(statement)

    def _flush_open(self) -> None:
        gone = [place for place, facts in self._open.items() if not facts]
        there = [(*place, _ENCODER.encode(facts)) for place, facts in self._open.items() if facts]
        self._db.execute("BEGIN")
        self._db.executemany("DELETE FROM open WHERE place = ? AND ref = ?", gone)
        self._db.executemany("INSERT OR REPLACE INTO open VALUES (?, ?, ?)", there)
        self._db.execute("COMMIT")
        self._open.clear()

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
            standing = Stated(row[2], row[5] or b"")
        elif row[1] == _ACCEPTED:
            events.append(Stated(row[2], row[5] or b""))
        else:
            return JobFacts(key, standing, events, map(_fact, chain([row], rows)))
    return JobFacts(key, standing, events, iter(()))


def _fact(row: Row) -> Fact:
    _, kind, at, last, number, _ = row
    return Fact(at, Kind(kind), last, number)
