"""The rows of runs, attempts, events and dead letters: read for a fold, and written back."""

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import Connection

from tocsin.broker.port import Record
from tocsin.model.events import Event
from tocsin.model.runs import Dead, Outcome, Run
from tocsin_gateway.projection.attempts import Attempt
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.facts import Fact
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.run_fold import HistoryFact, RunFold, run_of
from tocsin_gateway.projection.tables import attempts, completions, dead_letters, events, runs


def load_fold(database: Database, connection: Connection, facts: Iterable[HistoryFact]) -> RunFold:
    """A fold that has the rows which these facts are about; the columns stand in the order of the
    fields."""
    fold = RunFold()
    touched = {run for fact in facts if (run := run_of(fact)) is not None}
    if touched:
        found = database.rows_among(connection, runs.c.run_id, touched)
        fold.read = {row[0]: RunRow(*row) for row in found}
        fold.runs = dict(fold.read)
    if fold.runs:
        tried = database.rows_among(connection, attempts.c.run_id, fold.runs)
        fold.attempts = {(row[0], row[1]): Attempt(*row) for row in tried}
    return fold


def store_fold(database: Database, connection: Connection, fold: RunFold) -> None:
    """Write the rows of a fold; their fields stand in the order of the columns."""
    for table, rows in (
        (runs, map(msgspec.structs.astuple, fold.runs.values())),
        (attempts, map(msgspec.structs.astuple, fold.attempts.values())),
        (events, (_event_row(*event) for event in fold.events)),
        (dead_letters, ((run_id, *dead) for run_id, dead in fold.dead_letters.items())),
        (completions, ((*key, revision) for key, revision in fold.completions.items())),
    ):
        database.upsert(connection, table, rows)


def history_facts(facts: Sequence[tuple[Record, Fact]]) -> list[tuple[Record, HistoryFact]]:
    """Those that are about runs."""
    return [
        (record, fact) for record, fact in facts if isinstance(fact, Run | Outcome | Event | Dead)
    ]


def _event_row(record: Record, event: Event, about: str | None) -> tuple[object, ...]:
    fields = msgspec.structs.asdict(event) | {
        "run_id": about or event.run_id,
        "partition": record.partition,
        "record_offset": record.offset,
    }
    return tuple(fields[column.name] for column in events.columns)
