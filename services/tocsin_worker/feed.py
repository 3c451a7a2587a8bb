"""From reading threads to their lanes."""

from collections.abc import Callable, Collection, Mapping
from typing import Generic, TypeVar

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import Record
from tocsin_worker.intake.lane import Lane
from tocsin_worker.intake.mailbox import Mailbox, Offsets
from tocsin_worker.intake.share_lane import Held, ShareLane
from tocsin_worker.worker import RunWorker

L = TypeVar("L", Lane, ShareLane)


class _LaneFeed(Generic[L]):
    """What a lane is told, whatever its source."""

    def __init__(
        self,
        lane: L,
        mailbox: Mailbox,
        worker: RunWorker,
        joined: Callable[[], None],
        failed: Callable[[BrokerError], None],
    ) -> None:
        self._lane: L = lane
        self._mailbox = mailbox
        self._worker = worker
        self.joined = joined
        self.failed = failed

    def received(self, records: list[Record]) -> None:
        self._mailbox.arrived(len(records))
        self._lane.received(records)
        self._worker.dispatch()


class Feed(_LaneFeed[Lane]):
    """The `ReaderEvents` of one lane."""

    def assigned(self, ends: Mapping[int, int | None]) -> None:
        self._lane.assigned(ends)

    def committed(self, offsets: Offsets) -> None:
        self._lane.committed(offsets)
        self._worker.dispatch()

    async def release(self, partitions: Collection[int]) -> Offsets:
        return await self._worker.release(self._lane, partitions)

    def dropped(self, partitions: Collection[int]) -> None:
        self._lane.dropped(partitions)
        self._worker.dispatch()


class ShareFeed(_LaneFeed[ShareLane]):
    """The `ShareReaderEvents` of one lane."""

    def accepted(self, held: list[Held]) -> None:
        self._lane.accepted(held)
        self._worker.dispatch()

    async def release(self) -> None:
        await self._worker.release_all(self._lane)
