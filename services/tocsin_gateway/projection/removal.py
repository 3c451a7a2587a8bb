"""Removing rows, a slice at a time, so that no transaction grows with what has piled up."""

from collections.abc import Sequence

from sqlalchemy import Column, Connection, delete, select, tuple_

from tocsin_gateway.projection.database import chunks
from tocsin_gateway.projection.tables import (
    attempts,
    dead_letters,
    events,
    runs,
)

SLICE = 1_000
"""So many rows of a kind one sweep removes."""


def remove_before(connection: Connection, column: Column[int], oldest: int) -> bool:
    """Remove a slice of the rows of which that indexed time is before `oldest`; whether it was
    a full slice, so that there may be more."""
    key = tuple_(*column.table.primary_key)
    old = select(*column.table.primary_key).where(column < oldest).order_by(column).limit(SLICE)
    return connection.execute(delete(column.table).where(key.in_(old))).rowcount >= SLICE


def remove_runs(connection: Connection, run_ids: Sequence[str]) -> None:
    """Remove runs and all that is known of them."""
    for some in chunks(run_ids):
        for table in (runs, attempts, dead_letters, events):
            connection.execute(delete(table).where(table.c.run_id.in_(some)))
