"""Tallies as rows, by what they are of:

    acme       all that the tenant's history has ever had, by ten minutes, kept up with each batch
    acme/      the same by the hour
    acme/job   the runs of the job that its limit by count has removed, by the hour

They are kept as long as history is by age. What comes so late that its row has gone already counts
once more.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from sqlalchemy import Connection, select

from tocsin.model.keys import JobKey
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.tables import tallies
from tocsin_gateway.projection.tally import Tally, add

TEN_MINUTES_MS = 600_000
HOUR_MS = 3_600_000

_Changes: TypeAlias = dict[tuple[str, int], Tally]


def tally_batch(
    database: Database,
    connection: Connection,
    before: Mapping[str, RunRow],
    after: Mapping[str, RunRow],
) -> None:
    """Rows by their ids, as they were and as they are now, for their tenants."""
    changes: _Changes = defaultdict(Counter)
    for run_id, row in after.items():
        known = before.get(run_id)
        if known is row:
            continue
        tally = changes[row.tenant, start_of(row.scheduled_time, TEN_MINUTES_MS)]
        add(tally, row)
        if known is not None:
            add(tally, known, -1)
    for (tenant, begin), tally in list(changes.items()):
        changes[f"{tenant}/", start_of(begin, HOUR_MS)].update(tally)
    _add(database, connection, changes)


def tally_removed(database: Database, connection: Connection, rows: Iterable[RunRow]) -> None:
    """Rows that are being removed since their jobs have too many."""
    changes: _Changes = defaultdict(Counter)
    for row in rows:
        key = str(JobKey(row.tenant, row.job_id))
        add(changes[key, start_of(row.scheduled_time, HOUR_MS)], row)
    _add(database, connection, changes)


def tenant_tally(connection: Connection, tenant: str, since: int) -> Tally:
    """Of all that was scheduled at `since`, a beginning of ten minutes, or later."""
    hour = start_of(since + HOUR_MS - 1, HOUR_MS)
    return _sum([*_read(connection, tenant, since, hour), *_read(connection, f"{tenant}/", hour)])


def removed_tally(connection: Connection, key: JobKey, since: int) -> Tally:
    """Of the job's removed runs, scheduled at `since`, the beginning of an hour, or later."""
    return _sum(_read(connection, str(key), since))


def start_of(time: int, length_ms: int) -> int:
    """The beginning of the ten minutes, or of the hour, that the time is in."""
    return time // length_ms * length_ms


def _read(
    connection: Connection, scope: str, since: int, until: int | None = None
) -> Sequence[str]:
    query = select(tallies.c.tally).where(tallies.c.scope == scope, tallies.c.begin_time >= since)
    if until is not None:
        query = query.where(tallies.c.begin_time < until)
    return connection.execute(query).scalars().all()


def _sum(texts: Iterable[str]) -> Tally:
    total: Tally = Counter()
    for text in texts:
        total.update(json.loads(text))
    return total


def _add(database: Database, connection: Connection, changes: _Changes) -> None:
    if not changes:
        return
    scope, begin = tallies.c.scope, tallies.c.begin_time
    for row in database.rows_listed(connection, scope, begin, changes):
        changes[row["scope"], row["begin_time"]].update(json.loads(row["tally"]))
    rows = ((*key, json.dumps(+tally)) for key, tally in changes.items())
    database.upsert(connection, tallies, rows)
