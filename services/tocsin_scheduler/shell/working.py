"""The owned partitions at work: read, apply, let time run, commit."""

import logging
from collections.abc import Iterable, Mapping

from tocsin.broker.errors import Rebuild
from tocsin.broker.port import Record
from tocsin_scheduler.core.store import StoreDamaged
from tocsin_scheduler.core.turn import Budget
from tocsin_scheduler.shell.broker_clock import BrokerClock
from tocsin_scheduler.shell.catch_up import CatchUpRate
from tocsin_scheduler.shell.commits import Commits, Ended
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.outcomes_probe import OutcomesProbe
from tocsin_scheduler.shell.ownership import Tenures
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.shell.sources import Sources
from tocsin_scheduler.shell.spreading import Spreading

LOG = logging.getLogger(__name__)

SLICE_RECORDS = 1_000
LONGEST_WAIT_MS = 100
"""So that news of the group are not left waiting: each rebalance takes several polls."""
PROBE_WAIT_MS = 5
BEACON_MS = 60_000


class Working:
    """One step = at most one transaction. Between steps no turn is open."""

    def __init__(
        self,
        tenures: Tenures,
        sources: Sources,
        commits: Commits,
        spreading: Spreading,
        clock: BrokerClock,
        catch_up_rate: int,
        report: Report,
    ) -> None:
        self._tenures = tenures
        self._sources = sources
        self._commits = commits
        self._spreading = spreading
        self._clock = clock
        self._catch_up = CatchUpRate(catch_up_rate)
        self._probe = OutcomesProbe(sources)
        self._report = report
        self._beacon_at = 0
        self._shift = 0

    def step(self, longest_wait_ms: int) -> bool:
        """Wait for records or for the next instant at which something is due, then act.

        False where a transaction has failed: the next should not follow at once. Raises `Retry`,
        `Die`.
        """
        records = self._read(self._wait_ms(longest_wait_ms) / 1000)
        now = self._clock.now()
        available = self._catch_up.available(now)
        budget = Budget(catch_up=available)
        try:
            self._apply(records, now, budget)
            self._advance(now, budget)
            is_well = self._commit(now, budget)
        finally:
            self._drop_open()
        self._catch_up.take(available - budget.catch_up)
        self._ask()
        return is_well

    # reading

    def _wait_ms(self, longest_ms: int) -> int:
        now = self._clock.now()
        wait = min(longest_ms, PROBE_WAIT_MS if self._probe.is_open else LONGEST_WAIT_MS)
        for live in self._tenures.owned.values():
            if live.is_due(now) or live.remembers:
                return 0
            if live.wake is not None and not live.goals:
                wait = min(wait, live.wake - now)
        return wait

    def _read(self, timeout: float) -> list[Record]:
        try:
            return self._sources.poll(SLICE_RECORDS, timeout)
        except Rebuild as error:
            self._rebuild(error)
            return []

    def _rebuild(self, error: Rebuild) -> None:
        """The log does not hold any more what was to be read on from."""
        live = None if error.partition is None else self._tenures.owned.get(error.partition)
        LOG.error("%s", error, extra={"action": "rebuild"})
        if live is not None:
            self._begin_anew(live)

    def _apply(self, records: Iterable[Record], now: int, budget: Budget) -> None:
        routes = self._sources.routes
        for record in records:
            route = routes.get(record[:2])
            if route is None:
                continue
            live, source = route
            try:
                if not live.is_open:
                    live.open(now, budget)
                live.apply(source, record)
            except StoreDamaged as error:
                self._damaged(live, error)

    # time

    def _advance(self, now: int, budget: Budget) -> None:
        """Those that are due, each time beginning behind the one that began last: a budget that
        is spent by some is not always the others' loss."""
        owned = self._tenures.owned
        self._probe.settle(owned)
        for live in self._in_turn():
            self._advance_one(live, now, budget)

    def _in_turn(self) -> list[Live]:
        lives = list(self._tenures.owned.values())
        if not lives:
            return lives
        self._shift = (self._shift + 1) % len(lives)
        return lives[self._shift :] + lives[: self._shift]

    def _advance_one(self, live: Live, now: int, budget: Budget) -> None:
        if live.goals:
            self._sources.check_goals(live)
        try:
            if live.memory is not None:
                live.memory.check()
            if live.remembers:
                live.put_memory_to_use(now, budget)
            if live.is_due(now) and not budget.spent:
                live.advance(now, budget)
        except StoreDamaged as error:
            self._damaged(live, error)

    def _move_on(self, now: int, budget: Budget) -> None:
        """Where nothing has happened for a while, the watermark moves along with the others'."""
        for live in list(self._tenures.owned.values()):
            if not live.is_open and live.is_rested(now):
                live.wake = 0
                self._advance_one(live, now, budget)

    # the transaction

    def _commit(self, now: int, budget: Budget) -> bool:
        owned = self._tenures.owned
        beacon = bool(owned) and now - self._beacon_at >= BEACON_MS
        if not beacon and not any(live.has_changed for live in owned.values()):
            return True
        self._move_on(now, budget)
        kept = list(owned.values())
        for live in kept:
            if live.is_open:
                self._spreading.learn(live.turn.workers)
        with self._report.transaction():
            ended = self._commits.run(now, kept, watermarks=kept if beacon else ())
        if ended is Ended.COMMITTED:
            self._post(kept, now, beacon)
        elif ended is not Ended.ABORTED:
            self._forsake(kept)
        return ended is Ended.COMMITTED

    def _post(self, kept: Iterable[Live], now: int, beacon: bool) -> None:
        self._clock.see(self._commits.last_append)
        self._beacon_at = now if beacon else self._beacon_at
        for live in kept:
            if live.is_open:
                self._report.turn(live.number, live.turn, self._clock.now())
                self._post_one(live, now)

    def _post_one(self, live: Live, now: int) -> None:
        try:
            live.post(now)
        except StoreDamaged as error:
            self._damaged(live, error)

    def _drop_open(self) -> None:
        """What is open still has changed nothing, or its transaction has failed."""
        for live in list(self._tenures.owned.values()):
            if live.is_open and not live.has_changed:
                live.leave()
            elif live.is_open:
                self._drop_one(live)

    def _drop_one(self, live: Live) -> None:
        try:
            live.drop()
        except StoreDamaged as error:
            self._damaged(live, error)
        else:
            self._sources.add(live)

    def _forsake(self, lives: Iterable[Live]) -> None:
        """It is not known what became of their turns: they are restored from what was committed.
        Those without a turn have nothing to lose."""
        for live in lives:
            if live.is_open:
                self._start_over(live)

    def _damaged(self, live: Live, error: StoreDamaged) -> None:
        LOG.error("%s", error, extra={"action": "store_damaged", "partition": live.number})
        self._begin_anew(live)

    def _begin_anew(self, live: Live) -> None:
        """From the log alone."""
        live.store.delete()
        self._start_over(live)

    def _start_over(self, live: Live) -> None:
        tenure = self._tenures.get(live.number)
        self._sources.remove(live.number)
        if tenure is not None:
            self._tenures.start_over(tenure)

    # outcomes

    def _ask(self) -> None:
        owned: Mapping[int, Live] = self._tenures.owned
        if not self._probe.is_open and any(live.needs_outcomes for live in owned.values()):
            self._probe.ask(owned, self._clock.now())
            self._probe.settle(owned)
