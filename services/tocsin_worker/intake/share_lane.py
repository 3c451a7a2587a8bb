"""The runs of one priority as a share group hands them out."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple, Protocol

from tocsin.broker.port import Record
from tocsin.broker.refused import log_refused
from tocsin.model.jobs import Priority
from tocsin.wire import codec
from tocsin.wire.codec import WireError
from tocsin_worker.intake.partition import Delivery, Origin, Place, RunsPartition
from tocsin_worker.intake.turns import TenantTurns

OVERDUE_MS = 10_000
"""A third of the time for which the brokers hold a record for a member."""


class Held(NamedTuple):
    """A record that the group has given to this member."""

    partition: int
    offset: int


class Accepts(Protocol):
    """Where a lane says what it is done with: the reader of its topic."""

    def accept(self, held: Collection[Held]) -> None:
        """Accept soon; `ShareLane.accepted` is told when it is done."""


class ShareLane:
    """Belongs to the event loop's thread.

    Nobody knows whether a record has been given to another member before, and the brokers give up
    one that kills five of them. So every run is claimed, and accepted, before it executes: from
    then on the lease holds it. More than there are slots for come only as the rest of a batch; they
    are handed back to the scheduler before the brokers give them to somebody else.
    """

    def __init__(
        self,
        priority: Priority,
        accepts: Accepts,
        undecodable: Callable[[str], None],
        monotonic_ms: Callable[[], int],
    ) -> None:
        """`undecodable` is told the topic of each record that is not a run."""
        self.priority = priority
        self._accepts = accepts
        self._undecodable = undecodable
        self._monotonic_ms = monotonic_ms
        self._origins: dict[int, Origin] = {}
        self._turns: TenantTurns[Delivery] = TenantTurns()
        self._unstarted: dict[Held, tuple[Delivery, int]] = {}
        self._open: set[Held] = set()
        self._waiting: dict[Held, list[Callable[[], None]]] = {}
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def takeable(self) -> int:
        return len(self._turns)

    @property
    def unstarted(self) -> int:
        return len(self._unstarted)

    @property
    def places(self) -> list[str]:
        """None: whatever partition a run is in, any member may get it."""
        return []

    def room(self, free: int, *, handing_on: bool) -> int:
        """No more than can be begun at once."""
        return max(0, free - self.unstarted)

    def received(self, records: Iterable[Record]) -> None:
        """Records that are held for this member now. One that is not a run passes."""
        for record in records:
            held = Held(record.partition, record.offset)
            self._open.add(held)
            self._empty.clear()
            self._read(held, record)

    def next(self) -> Delivery:
        """The next run, its tenant's turn; raises `LookupError` when there is none."""
        return self._turns.take()

    def started(self, delivery: Delivery) -> None:
        self._unstarted.pop(_held(delivery), None)

    def passed(self, delivery: Delivery) -> None:
        """Nothing would be lost if this record were never given to anybody again."""
        held = _held(delivery)
        if held in self._open:
            self._accepts.accept([held])

    def when_committed(self, delivery: Delivery, call: Callable[[], None]) -> None:
        """Call back once the record, which has passed, is accepted."""
        held = _held(delivery)
        if held in self._open:
            self._waiting.setdefault(held, []).append(call)
        else:
            call()

    def accepted(self, all_held: Collection[Held]) -> None:
        """These are accepted, or lost: claims hold either way."""
        self._open.difference_update(all_held)
        for held in all_held:
            for call in self._waiting.pop(held, ()):
                call()
        if not self._open:
            self._empty.set()

    def commit_all(self) -> None:
        """What has passed is on its way already."""

    def overdue(self) -> list[Delivery]:
        """Runs that have waited for a slot for too long; they wait no more."""
        before = self._monotonic_ms() - OVERDUE_MS
        old = [delivery for delivery, since in self._unstarted.values() if since <= before]
        if old:
            self._turns.remove(set(old).__contains__)
        return old

    def held_up(self) -> list[RunsPartition]:
        """None: here the order of the log means nothing."""
        return []

    def withdraw(self) -> list[Delivery]:
        """Nothing is begun from now on; what has not been."""
        for origin in self._origins.values():
            origin.withdraw()
        self._turns.remove(lambda _: True)
        left, self._unstarted = self._unstarted, {}
        return [delivery for delivery, _ in left.values()]

    async def drained(self) -> None:
        """Wait until everything that was held has been accepted."""
        await self._empty.wait()

    def _read(self, held: Held, record: Record) -> None:
        try:
            run = codec.RUN.decode(record.value or b"")
        except WireError as error:
            log_refused(record, error)
            self._undecodable(record.topic)
            self._accepts.accept([held])
            return
        delivery = Delivery(self._origin(held.partition), held.offset, run, redelivered=True)
        self._unstarted[held] = (delivery, self._monotonic_ms())
        self._turns.put(run.tenant, delivery)

    def _origin(self, number: int) -> Origin:
        origin = self._origins.get(number)
        if origin is None:
            origin = self._origins[number] = Origin(Place(self.priority, number))
        return origin


def _held(delivery: Delivery) -> Held:
    return Held(delivery.partition.place.partition, delivery.offset)
