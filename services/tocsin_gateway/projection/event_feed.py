"""What happens to jobs and runs: the scheduler's decisions and what workers say, from any place on.

A place is the next offset in each partition of the events topic, then of the outcomes topic: it
means the same to every gateway, and after the read model was built anew.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from heapq import merge
from typing import Any, NamedTuple, TypeAlias, get_args

from sqlalchemy import Select, select

from tocsin.model.events import Event, EventType
from tocsin.model.runs import Outcome, SaidType
from tocsin.model.values import Value
from tocsin_gateway.projection.cursors import InvalidCursor, read_cursor, write_cursor
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.outcome_tail import (
    TOLD,
    News,
    OutcomeLog,
    OutcomeTail,
)
from tocsin_gateway.projection.progress import Progress
from tocsin_gateway.projection.tables import events

NewsType: TypeAlias = EventType | SaidType

NEWS_TYPES: tuple[NewsType, ...] = (*get_args(EventType), *TOLD)

_LIST = "events"
_SLICE = 10_000
_MOST_OF_PARTITION = 100

Place: TypeAlias = tuple[int, ...]


class EventFilter(Value, frozen=True):
    """Which news of a tenant: all conditions hold; no types = of all types."""

    tenant: str
    job_id: str | None = None
    types: tuple[NewsType, ...] = ()

    @property
    def has_outcomes(self) -> bool:
        """What workers say may be among them."""
        return not self.types or not set(TOLD).isdisjoint(self.types)

    def fits(self, outcome: Outcome) -> bool:
        """Whether an outcome is among them."""
        is_of = outcome.tenant == self.tenant and self.job_id in (None, outcome.job_id)
        return is_of and (not self.types or outcome.kind in self.types)

    def fits_key(self, key: bytes) -> bool:
        """Whether a record of that key may be."""
        if self.job_id is None:
            return key.startswith(f"{self.tenant}/".encode())
        return key == f"{self.tenant}/{self.job_id}".encode()


class Told(Value, frozen=True):
    """One piece of news, and the place behind it."""

    news: Event | Outcome
    place: Place


class EventBatch(Value, frozen=True):
    """News in their order, and the place up to which there are no others."""

    told: tuple[Told, ...]
    place: Place


class _Item(NamedTuple):
    """part: which number of a place its partition is."""

    part: int
    offset: int
    news: Event | Outcome


class EventFeed:
    """Reads what happens; for any thread."""

    def __init__(
        self,
        database: Database,
        progress: Progress,
        topic: str,
        tail: OutcomeTail,
        outcomes: OutcomeLog,
    ) -> None:
        self._database = database
        self._progress = progress
        self._topic = topic
        self._tail = tail
        self._outcomes = outcomes

    def ends(self) -> Place:
        """How far the read model has come; without partitions while that is not known."""
        decided, said = self._progress.reached(self._topic), self._tail.ends()
        return (*decided, *said) if decided and said else ()

    def moved(self) -> "Future[None]":
        """Done when `ends` is further than now."""
        return self._progress.moved(self._topic, self._tail.topic)

    def is_far(self, place: Place, wanted: EventFilter) -> bool:
        """Whether `after` is going to read from Kafka, which takes long. Does not block."""
        decided = self._progress.reached(self._topic)
        if not decided:
            return False
        said = place[len(decided) :]
        begins = self._tail.begins(range(len(said))) if wanted.has_outcomes else {}
        return any(said[partition] < begin for partition, begin in begins.items())

    def after(self, place: Place, wanted: EventFilter) -> EventBatch:
        """Those from `place` on; perhaps not all of them, the place of the batch tells.

        In each partition they come in the order of the log, between partitions by their time.
        Blocks on the database, and on Kafka for what workers said long ago; raises SQLAlchemy's
        errors and `BrokerError`s.
        """
        decided = self._progress.reached(self._topic)
        if not decided:
            return EventBatch(told=(), place=place)
        events_part, outcomes_part = place[: len(decided)], place[len(decided) :]
        found, reached = self._decided(events_part, decided, wanted)
        said, further = self._said(outcomes_part, wanted)
        for partition, news in said.items():
            part = len(decided) + partition
            found.append([_Item(part, *each) for each in news if wanted.fits(each.outcome)])
        in_order = merge(*found, key=lambda item: item.news.time)
        return EventBatch(told=tuple(_told(place, in_order)), place=(*reached, *further))

    def _decided(
        self, place: Place, ends: Place, wanted: EventFilter
    ) -> tuple[list[list[_Item]], list[int]]:
        found, reached = [], list(place)
        with self._database.read() as connection:
            for partition, (start, end) in enumerate(zip(place, ends, strict=False)):
                if start >= end:
                    continue
                upto = min(end, start + _SLICE)
                query = _query(wanted, partition, start, upto)
                rows = connection.execute(query).mappings().all()
                found.append([_Item(partition, row["record_offset"], _event(row)) for row in rows])
                is_cut = len(rows) == _MOST_OF_PARTITION
                reached[partition] = rows[-1]["record_offset"] + 1 if is_cut else upto
        return found, reached

    def _said(self, place: Place, wanted: EventFilter) -> tuple[News, list[int]]:
        if not wanted.has_outcomes:
            return {}, [max(at, end) for at, end in zip(place, self._tail.ends(), strict=True)]
        news, reached, far = News(), list(place), dict[int, int]()
        for partition, start in enumerate(place):
            said = self._tail.since(partition, start, _MOST_OF_PARTITION)
            if said is None:
                far[partition] = start
            else:
                news[partition], reached[partition] = said
        if far:
            read, further = self._outcomes.read(far, self._tail.begins(far), wanted.fits_key)
            news |= read
            for partition, offset in further.items():
                reached[partition] = offset
        return news, reached


def write_place(place: Place) -> str:
    """The place as text that means nothing to others."""
    return write_cursor(_LIST, place)


def read_place(text: str, partitions: int) -> Place:
    """The place that `write_place` wrote; raises `InvalidCursor`."""
    try:
        numbers = read_cursor(_LIST, text, *([int] * partitions))
    except InvalidCursor:
        raise InvalidCursor("not an id that this stream has given out") from None
    return tuple(int(number) for number in numbers)


def _told(place: Place, in_order: Iterator[_Item]) -> Iterator[Told]:
    at = list(place)
    for part, offset, news in in_order:
        at[part] = offset + 1
        yield Told(news=news, place=tuple(at))


def _query(wanted: EventFilter, partition: int, start: int, end: int) -> Select[Any]:
    query = select(events).where(
        events.c.partition == partition,
        events.c.record_offset >= start,
        events.c.record_offset < end,
        events.c.tenant == wanted.tenant,
    )
    if wanted.job_id is not None:
        query = query.where(events.c.job_id == wanted.job_id)
    if wanted.types:
        query = query.where(events.c.type.in_(wanted.types))
    return query.order_by(events.c.record_offset).limit(_MOST_OF_PARTITION)


def _event(row: Mapping[Any, Any]) -> Event:
    return Event(**{name: row[name] for name in Event.__struct_fields__})
