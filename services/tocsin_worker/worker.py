"""What runs in a worker's slots, and when they stand empty."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import partial

from tocsin.model.runs import Cancel, Error, Run
from tocsin_worker.attempt import Attempt, Workplace
from tocsin_worker.cancels import CancelBook
from tocsin_worker.concurrency import Concurrency
from tocsin_worker.execution import CANCEL_GRACE_MS, Stop
from tocsin_worker.intake.intake import Intake
from tocsin_worker.intake.lane import Lane
from tocsin_worker.intake.mailbox import Offsets
from tocsin_worker.intake.partition import Delivery
from tocsin_worker.intake.reader import RELEASE_SECONDS
from tocsin_worker.intake.share_lane import ShareLane
from tocsin_worker.report import Colleagues
from tocsin_worker.slots import HAND_ON_AFTER_MS, TICK_MS, Slots

LOG = logging.getLogger(__name__)

_FORGET_TICKS = 36_000


class RunWorker:
    """Belongs to the event loop's thread.

        working ──drain()──► draining ──all ended, or grace over──► interrupting ──► drained
                                └────────── abort() ─────────────────────┘

    Working: each free slot takes the next run. When no slot has been left over for two seconds, too
    few runs have been begun in them, and another worker of the pool has some, runs that have not
    been started are declined, so that the scheduler sends them there. See `Slots.gives_way`.
    """

    def __init__(
        self,
        slots: Slots,
        intake: Intake,
        place: Workplace,
        colleagues: Colleagues,
        cancels: CancelBook,
        concurrency: Concurrency,
    ) -> None:
        self.slots = slots
        self._concurrency = concurrency
        self._intake = intake
        self._place = place
        self._colleagues = colleagues
        self._cancels = cancels
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._loop = asyncio.get_running_loop()
        self._dispatch_is_due = False
        self._draining = False
        self._aborted = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._ticks = 0
        self.ticked_at: int | None = None

    @property
    def free(self) -> int:
        """Slots that another run could take."""
        return 0 if self._draining else self.slots.free

    @property
    def aborted(self) -> bool:
        """Whether nothing is to be waited for."""
        return self._aborted.is_set()

    def start(self) -> None:
        """Take runs from now on."""
        self.dispatch()
        self._tick()

    def dispatch(self) -> None:
        """Fill the free slots, soon: many calls until then are one."""
        if not self._dispatch_is_due:
            self._dispatch_is_due = True
            self._loop.call_soon(self._dispatch)

    def cancelled(self, cancels: Iterable[tuple[Cancel, int]]) -> None:
        """Cancels with their append times: obeyed by attempts that are here, and remembered for
        runs to come where they are for all workers."""
        for cancel, timestamp in cancels:
            self._cancels.add(cancel, timestamp)
            if self._cancels.concerns(cancel):
                self._stop_attempts(cancel, timestamp)

    async def release(self, lane: Lane, partitions: Collection[int]) -> Offsets:
        """Partitions are about to go; answers with the offsets that may be committed.

        What runs is claimed, and what was overtaken by it is declined, so that the next owner
        reads neither. At most `RELEASE_SECONDS`; what has not been heard of by then is read again.
        """
        held = lane.withdraw(partitions)
        for attempt in list(self._attempts.values()):
            if attempt.came_from(held):
                attempt.claim()
        for partition in held:
            for delivery in partition.unstarted():
                if delivery.offset < partition.highest_taken:
                    self._decline(delivery)
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                for partition in held:
                    await lane.drained(partition, partition.highest_taken)
        except TimeoutError:
            LOG.warning(
                "%s: not all runs were claimed in time",
                ", ".join(lane.places),
                extra={"action": "release_incomplete"},
            )
        return {partition.place.partition: partition.lowest for partition in held}

    async def release_all(self, lane: ShareLane) -> None:
        """Hand on what has not been started; what has is claimed, or has ended. At most
        `RELEASE_SECONDS`; what has not been heard of by then is somebody else's too."""
        for delivery in lane.withdraw():
            self._decline(delivery)
        with suppress(TimeoutError):
            async with asyncio.timeout(RELEASE_SECONDS):
                await lane.drained()

    async def enter_host(self, run: Run, host: str) -> None:
        """An executing run goes on to another host: it leaves the one where it is, and waits until
        there is room."""
        if not self._concurrency.is_at(run, host):
            self._concurrency.leave_host(run)
            self.dispatch()
            await self._concurrency.enter_host(run, host)

    def drain(self) -> None:
        """Take nothing new, and leave the groups. What executes goes on."""
        self._draining = True
        self._intake.read_on(0)
        for attempt in list(self._attempts.values()):
            if not attempt.executing:
                attempt.stop(Stop.INTERRUPTED)
        self._intake.leave()

    def abort(self) -> None:
        """Do not wait for the grace to end."""
        self._aborted.set()

    async def when_aborted(self) -> None:
        """Wait for `abort`."""
        await self._aborted.wait()

    async def drained(self, grace_ms: int) -> None:
        """Wait until all attempts have ended; those that have not within the grace are
        interrupted."""
        ended = asyncio.ensure_future(self._empty.wait())
        aborted = asyncio.ensure_future(self._aborted.wait())
        await asyncio.wait(
            (ended, aborted), timeout=grace_ms / 1000, return_when=asyncio.FIRST_COMPLETED
        )
        for attempt in list(self._attempts.values()):
            attempt.stop(Stop.INTERRUPTED)
        await asyncio.wait((ended,), timeout=2 * CANCEL_GRACE_MS / 1000)
        for waiter in (ended, aborted):
            waiter.cancel()

    def _tick(self) -> None:
        self._ticks += 1
        self.ticked_at = self._place.timers.monotonic_ms()
        self.slots.tick()
        self._intake.commit_all()
        self._hand_back_overdue()
        if not self.slots.free or self._concurrency.makes_wait:
            self.dispatch()
        if self._ticks % _FORGET_TICKS == 0:
            self._cancels.forget(self._place.timers.now_ms())
            self._concurrency.forget()
        self._place.timers.after(TICK_MS, self._tick)

    def _dispatch(self) -> None:
        self._dispatch_is_due = False
        if self._draining:
            return
        self._fill_slots()
        while self._concurrency.makes_wait and self._clear_the_way():
            self._fill_slots()
        self.slots.offered()
        handing_on = self._is_stuck()
        if handing_on:
            self._hand_on()
        self._intake.read_on(self.slots.free, handing_on=handing_on)

    def _fill_slots(self) -> None:
        while self.slots.free and (delivery := self._concurrency.take()) is not None:
            self._begin(delivery)
        while self.slots.free and (delivery := self._intake.next()) is not None:
            if self._concurrency.admit(delivery):
                self._begin(delivery)

    def _is_stuck(self) -> bool:
        """While it is full only, since what waits has to be counted."""
        if self.slots.full_ms < HAND_ON_AFTER_MS:
            return False
        return self.slots.gives_way(self._intake.unstarted) and self._colleagues.could_take()

    def _hand_on(self) -> None:
        for waiting in self._concurrency.give_up():
            self._hand_back(waiting)
        while (delivery := self._intake.next()) is not None:
            self._hand_back(delivery)

    def _hand_back_overdue(self) -> None:
        overdue = self._intake.overdue()
        if overdue:
            self._concurrency.drop(overdue)
        for delivery in overdue:
            self._hand_back(delivery)

    def _clear_the_way(self) -> bool:
        """What waits for a limit for long goes back for a while, where it holds up what does
        not; whether there was any."""
        cleared = False
        for partition in self._intake.held_up():
            for delivery, why in self._concurrency.in_the_way(partition):
                self._hand_back(delivery, why)
                cleared = True
        return cleared

    def _hand_back(self, delivery: Delivery, why: Error | None = None) -> None:
        self._intake.started(delivery)
        self._decline(delivery, why)

    def _begin(self, delivery: Delivery) -> None:
        """One that has been admitted."""
        self._intake.started(delivery)
        present = self._attempts.get(_key(delivery.run))
        if present is not None:
            self._concurrency.repeated(delivery.run)
            present.join(delivery)
            return
        self._concurrency.begun(delivery.run)
        self.slots.take()
        attempt = Attempt(delivery, self._place, self._ended)
        self._attempts[_key(delivery.run)] = attempt
        self._empty.clear()
        attempt.begin()

    def _ended(self, attempt: Attempt) -> None:
        del self._attempts[_key(attempt.run)]
        self.slots.give_back()
        self._concurrency.ended(attempt.run, attempt.duration_ms)
        if not self._attempts:
            self._empty.set()
        self.dispatch()

    def _decline(self, delivery: Delivery, why: Error | None = None) -> None:
        """Not started here, and not to be counted as an attempt; with a reason, it comes again no
        sooner than that says. A repetition of what executes here passes with it."""
        present = self._attempts.get(_key(delivery.run))
        if present is not None:
            present.join(delivery)
            return
        heard = partial(self._intake.passed, delivery)
        self._place.outcomes.write(delivery.run, "declined", heard, error=why)
        self._place.gauges.ended(delivery.run, "declined", None)

    def _stop_attempts(self, cancel: Cancel, timestamp: int) -> None:
        """One for this worker alone does not mean what was emitted after it: the scheduler has
        not heard of that yet."""
        reason = Stop.CANCELLED if cancel.worker is None else Stop.SUPERSEDED
        for (run_id, number), attempt in list(self._attempts.items()):
            if run_id != cancel.run_id or number > cancel.attempt:
                continue
            if reason is Stop.CANCELLED or attempt.run.emitted_time <= timestamp:
                attempt.stop(reason)


def _key(run: Run) -> tuple[str, int]:
    return run.run_id, run.attempt
