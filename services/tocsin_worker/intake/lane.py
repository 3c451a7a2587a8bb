"""The runs of one priority: what was read of each partition, and what may be taken."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from tocsin.broker.port import Record
from tocsin.broker.refused import log_refused
from tocsin.model.jobs import Priority
from tocsin.model.runs import Run
from tocsin.wire import codec
from tocsin.wire.codec import WireError
from tocsin_worker.intake.mailbox import Offsets
from tocsin_worker.intake.partition import Delivery, Place, RunsPartition
from tocsin_worker.intake.turns import TenantTurns

CAPACITY = 2_048
"""So many runs of a priority are read ahead at most."""

COMMIT_BEHIND = 64
"""So many offsets that have passed are worth a commit at once."""


class Commits(Protocol):
    """Where a lane sends its offsets: the reader of its topic."""

    def commit(self, offsets: Offsets) -> None:
        """Commit soon; `Lane.committed` is told when it is done. Newer offsets replace older."""


class _Drain(NamedTuple):
    """Somebody waits until this offset has passed."""

    partition: RunsPartition
    offset: int
    done: asyncio.Event


class Lane:
    """Belongs to the event loop's thread.

    Offsets are committed by need: at once where something waits for it or many have passed, else
    with the next `commit_all`.
    """

    def __init__(
        self, priority: Priority, commits: Commits, undecodable: Callable[[str], None]
    ) -> None:
        """`undecodable` is told the topic of each record that is not a run."""
        self.priority = priority
        self._commits = commits
        self._undecodable = undecodable
        self._assigned: dict[int, int | None] = {}
        self._partitions: dict[int, RunsPartition] = {}
        self._turns: TenantTurns[Delivery] = TenantTurns()
        self._being_committed: set[int] = set()
        self._draining: list[_Drain] = []
        self._waiting_for_commit: dict[int, list[tuple[int, Callable[[], None]]]] = {}

    @property
    def takeable(self) -> int:
        """How many runs could be taken now."""
        return len(self._turns)

    @property
    def unstarted(self) -> int:
        """How many runs were read and not taken."""
        return sum(partition.unstarted_count for partition in self._partitions.values())

    def room(self, free: int, *, handing_on: bool) -> int:
        """How many more runs may be read, with so many free slots."""
        return CAPACITY - self.unstarted if free or handing_on else 0

    @property
    def places(self) -> list[str]:
        """The assigned partitions, as `high:3`."""
        return [str(Place(self.priority, number)) for number in sorted(self._assigned)]

    def assigned(self, ends: Mapping[int, int | None]) -> None:
        """These partitions begin anew: nothing that was known of them counts. With the ends of
        their logs, as far as known."""
        self.dropped(ends)
        self._assigned.update(ends)

    def received(self, records: Iterable[Record]) -> None:
        """Records in the order of their offsets. One that is not a run is logged and passes."""
        touched: dict[int, RunsPartition] = {}
        for record in records:
            partition = self._partitions.get(record.partition) or self._begin(record)
            touched[record.partition] = partition
            self._read(partition, record)
        for partition in touched.values():
            self._moved(partition)

    def next(self) -> Delivery:
        """The next run, its tenant's turn; raises `LookupError` when there is none. It stays
        unstarted, and holds up what must not overtake it, until `started`."""
        return self._turns.take()

    def started(self, delivery: Delivery) -> None:
        """It has been begun, or handed on."""
        partition = self._held(delivery)
        if partition is not None:
            partition.taken(delivery)
            if delivery.redelivered:
                self._offer(partition)

    def passed(self, delivery: Delivery) -> None:
        """Nothing would be lost if this record were never read again."""
        partition = self._held(delivery)
        if partition is not None:
            partition.passed(delivery.offset)
            self._moved(partition)
            self._tell_drained(partition)

    def when_committed(self, delivery: Delivery, call: Callable[[], None]) -> None:
        """Call back once the offset is committed, or is nobody's business here any more.

        The record must have passed, and be the lowest that had not.
        """
        partition = self._held(delivery)
        if partition is None or partition.committed > delivery.offset:
            call()
            return
        number = partition.place.partition
        self._waiting_for_commit.setdefault(number, []).append((delivery.offset, call))
        self.commit_all()

    def committed(self, offsets: Offsets) -> None:
        """These offsets are committed: the windows move on."""
        self._being_committed.difference_update(offsets)
        for number, offset in offsets.items():
            partition = self._partitions.get(number)
            if partition is not None:
                partition.committed = max(partition.committed, offset)
                self._release_waiting(number, offset)
                self._moved(partition)

    def commit_all(self) -> None:
        """Commit whatever has passed: one request at a time, however many partitions."""
        if self._being_committed:
            return
        offsets = {
            number: partition.lowest
            for number, partition in self._partitions.items()
            if partition.lowest > partition.committed
        }
        if offsets:
            self._being_committed.update(offsets)
            self._commits.commit(offsets)

    def overdue(self) -> list[Delivery]:
        """None: here a run may wait for as long as it likes."""
        return []

    def held_up(self) -> list[RunsPartition]:
        """Partitions of which what was read may not begin before something older has."""
        return [partition for partition in self._partitions.values() if partition.held_up]

    def withdraw(self, partitions: Collection[int]) -> list[RunsPartition]:
        """Nothing of these is taken from now on; answers with what was read of them."""
        self._turns.remove(lambda delivery: delivery.partition.place.partition in partitions)
        held = [self._partitions[number] for number in partitions if number in self._partitions]
        for partition in held:
            partition.withdraw()
        return held

    async def drained(self, partition: RunsPartition, offset: int) -> None:
        """Wait until this offset and all below have passed, or the partition has gone."""
        if partition.lowest <= offset and self._is_held(partition):
            self._draining.append(_Drain(partition, offset, done := asyncio.Event()))
            await done.wait()

    def dropped(self, partitions: Collection[int]) -> None:
        """These have gone: what is unstarted is somebody else's."""
        self.withdraw(partitions)
        self._being_committed.difference_update(partitions)
        for number in partitions:
            self._assigned.pop(number, None)
            gone = self._partitions.pop(number, None)
            self._release_waiting(number, None)
            if gone is not None:
                self._tell_drained(gone)

    def _begin(self, record: Record) -> RunsPartition:
        """The partition of the first record read of it."""
        number = record.partition
        place, end = Place(self.priority, number), self._assigned.get(number)
        self._partitions[number] = partition = RunsPartition(place, record.offset, end)
        return partition

    def _read(self, partition: RunsPartition, record: Record) -> None:
        run = self._decode(record)
        if run is None:
            partition.read_unusable(record.offset)
        else:
            partition.read(record.offset, run)

    def _decode(self, record: Record) -> Run | None:
        try:
            return codec.RUN.decode(record.value or b"")
        except WireError as error:
            log_refused(record, error)
            self._undecodable(record.topic)
            return None

    def _moved(self, partition: RunsPartition) -> None:
        self._offer(partition)
        behind = partition.lowest - partition.committed
        waited_for = partition.stalled or partition.place.partition in self._waiting_for_commit
        if behind >= COMMIT_BEHIND or (behind and waited_for):
            self.commit_all()

    def _offer(self, partition: RunsPartition) -> None:
        for delivery in partition.offer():
            self._turns.put(delivery.run.tenant, delivery)

    def _tell_drained(self, partition: RunsPartition) -> None:
        if not self._draining:
            return
        waiting, self._draining = self._draining, []
        for entry in waiting:
            still_held = self._is_held(entry.partition)
            if entry.partition is partition and (entry.offset < partition.lowest or not still_held):
                entry.done.set()
            else:
                self._draining.append(entry)

    def _held(self, delivery: Delivery) -> RunsPartition | None:
        """The partition that it was read from, unless that has gone, and maybe come anew."""
        partition = self._partitions.get(delivery.partition.place.partition)
        return partition if partition is delivery.partition else None

    def _is_held(self, partition: RunsPartition) -> bool:
        return self._partitions.get(partition.place.partition) is partition

    def _release_waiting(self, number: int, below: int | None) -> None:
        """Call those that wait for an offset below this one; None = all."""
        waiting = self._waiting_for_commit.pop(number, [])
        kept = [entry for entry in waiting if below is not None and entry[0] >= below]
        if kept:
            self._waiting_for_commit[number] = kept
        for offset, call in waiting:
            if below is None or offset < below:
                call()
