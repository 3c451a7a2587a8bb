"""The order of a list: where a page begins, and how far it may look."""

from collections.abc import Iterable
from typing import Any, TypeVar

from sqlalchemy import Column, ColumnElement, Connection, Select, select, tuple_

from tocsin_gateway.projection.cursors import Position

MOST_ROWS = 10_000
"""So many rows one page looks through at the most, whatever it looks for."""

S = TypeVar("S", bound=Select[Any])


class Order:
    """Columns that rise together or, with `falls`, fall together; an index has them in this order,
    and a position in it is a tuple of their values."""

    def __init__(self, columns: tuple[Column[Any], ...], *, falls: bool = False) -> None:
        self.columns = columns
        self._falls = falls
        self._row = tuple_(*columns)

    def after(self, position: Position) -> ColumnElement[bool]:
        """Beyond the position."""
        at = tuple_(*position)
        return self._row < at if self._falls else self._row > at

    def up_to(self, position: Position) -> ColumnElement[bool]:
        """Not beyond it."""
        at = tuple_(*position)
        return self._row >= at if self._falls else self._row <= at

    def sorted(self, positions: Iterable[Position]) -> list[Position]:
        return sorted(positions, reverse=self._falls)

    def sort(self, query: S) -> S:
        return query.order_by(*(each.desc() if self._falls else each for each in self.columns))


def far(
    connection: Connection,
    which: ColumnElement[bool],
    order: Order,
    begin: Position | None,
    part: int = 1,
) -> Position | None:
    """The position of the last row that a page may look at which begins after `begin`; None =
    there are not so many. `which`: rows that stand together in the index of the order. `part`: of
    so many streams, which together are one page."""
    query = order.sort(select(*order.columns).where(which))
    if begin is not None:
        query = query.where(order.after(begin))
    row = connection.execute(query.offset(max(MOST_ROWS // part, 1) - 1).limit(1)).first()
    return None if row is None else tuple(row)
