"""The order of a list: where a page begins, and how far it may look."""

from collections.abc import Iterable
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Select, select, tuple_

from tocsin_gateway.projection.cursors import Position

MOST_ROWS = 4_000
"""So many rows one page looks through at the most, whatever it looks for."""

S = TypeVar("S", bound=Select[Any])


class Order:
    """Columns that rise together or, with `falls`, fall together; an index has them in this order,
    and a position in it is a tuple of their values."""

    def __init__(self, columns: tuple[Column[Any], ...], *, falls: bool = False) -> None:
        self.columns = columns
        self._falls = falls
        self._row = tuple_(*columns)

    def within(
        self,
        begin: Position | None,
        end: Position | None = None,
        since: int | None = None,
        until: int | None = None,
    ) -> list[ColumnElement[bool]]:
        """Beyond `begin`, not beyond `end`, and since <= value of the first column < until.

        At each end only the tighter bound is asked for: SQLite looks up one of them in the index,
        perhaps the other, and then walks.
        """
        row, first = self._row, self.columns[0]
        low, high = (end, begin) if self._falls else (begin, end)
        bounds: list[ColumnElement[bool]] = []
        if since is not None and (low is None or int(low[0]) < since):
            bounds.append(first >= since)
        elif low is not None:
            bounds.append(row >= tuple_(*low) if self._falls else row > tuple_(*low))
        if until is not None and (high is None or int(high[0]) >= until):
            bounds.append(first < until)
        elif high is not None:
            bounds.append(row < tuple_(*high) if self._falls else row <= tuple_(*high))
        return bounds

    def sorted_after(self, begin: Position | None, positions: Iterable[Position]) -> list[Position]:
        """Those beyond `begin`, in their order."""
        found = sorted(positions, reverse=self._falls)
        if begin is None:
            return found
        return [each for each in found if (each < begin if self._falls else each > begin)]

    def sort(self, query: S) -> S:
        return query.order_by(*(each.desc() if self._falls else each for each in self.columns))


def far(
    connection: Connection, which: Iterable[ColumnElement[bool]], order: Order, part: int = 1
) -> Position | None:
    """The position of the last row that a page may look at; None = there are not so many. `which`:
    rows that stand together in the index of the order, from the page's begin on. `part`: of so many
    streams, which together are one page."""
    query = order.sort(select(*order.columns).where(*which))
    row = connection.execute(query.offset(max(MOST_ROWS // part, 1) - 1).limit(1)).first()
    return None if row is None else tuple(row)
