"""The scheduler's loop: one thread that does everything a partition's correctness hangs on.

poll the group ─► bring partitions in ─► claim ─► work ─► …
"""

import logging
from concurrent.futures import Executor

from tocsin.broker.errors import FENCED_INSTANCE, BrokerError, Die
from tocsin.broker.port import TopicPartition
from tocsin_scheduler.shell.absence import Absence
from tocsin_scheduler.shell.acquisition import Acquisition
from tocsin_scheduler.shell.assignments import Assignments
from tocsin_scheduler.shell.broker_clock import BrokerClock, Clock
from tocsin_scheduler.shell.commits import Commits, Ended
from tocsin_scheduler.shell.outage import Outage
from tocsin_scheduler.shell.ownership import Phase, Tenure, Tenures
from tocsin_scheduler.shell.premises import Premises
from tocsin_scheduler.shell.producer_seat import Incarnations, ProducerSeat, random_incarnation
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.shell.sources import Sources
from tocsin_scheduler.shell.spreading import Spreading
from tocsin_scheduler.shell.working import LONGEST_WAIT_MS, Working

LOG = logging.getLogger(__name__)

BUSY_WAIT_MS = 10
"""While partitions are brought in, but wait themselves for records or for a takeover."""


class Loop:
    """Nothing is joined or read before the first `step`."""

    def __init__(
        self,
        premises: Premises,
        clock: Clock,
        report: Report,
        executor: Executor,
        incarnations: Incarnations = random_incarnation,
    ) -> None:
        cluster, topics = premises.cluster, premises.topics
        self._premises = premises
        self.clock = BrokerClock(clock)
        self.tenures = Tenures()
        self._seat = ProducerSeat(cluster, topics, premises.node, incarnations)
        self.spreading = Spreading(cluster, topics, report.refused)
        self.commits = Commits(self._seat, topics, self.spreading)
        self._sources = Sources(cluster, topics)
        self.acquisition = Acquisition(premises, self.tenures, self._seat, report, executor)
        self._assignments = Assignments(
            self.tenures, self._sources, self.commits, self.clock, clock
        )
        self._outage = Outage(clock)
        self._absence = Absence(clock)
        self._working = Working(
            self.tenures,
            self._sources,
            self.commits,
            self.spreading,
            self.clock,
            premises.catch_up_rate,
            report,
        )

    def step(self) -> bool:
        """One round; at most about 100 ms where nothing is to be done. False where something
        failed that passes by itself: pause before the next.

        Raises `Die`.
        """
        try:
            self._take_part()
            self._seat.fill()
            is_busy = self.acquisition.step(self.clock.now(), 0)
            is_well = self._claim() and self._working.step(self._longest_wait_ms(is_busy))
        except BrokerError as error:
            if isinstance(error, Die) and not self._may_pass(error):
                raise
            LOG.warning("%s", error, extra={"action": "retry"})
            return False
        self._outage.is_over()
        return is_well

    def _may_pass(self, error: Die) -> bool:
        """Whether what no repetition helps, as a rule, may be otherwise this time."""
        if error.code == FENCED_INSTANCE:
            self.commits.is_fenced = self._absence.excuses()
            return self.commits.is_fenced
        return self._outage.may_be_cause_of(error)

    @property
    def positions(self) -> dict[TopicPartition, int]:
        """How far what is owned, or is being claimed, is read."""
        return self._sources.positions

    def close(self) -> None:
        """Give everything up, clean where the brokers answer."""
        self._leave()
        self._seat.vacate()
        self.acquisition.close()
        self._sources.close()
        self.spreading.close()

    # the group

    def _take_part(self) -> None:
        if self.commits.is_fenced:
            self._drop_everything()
        if self.commits.member is None:
            self._join()
        assert self.commits.member is not None
        self._absence.takes_part()
        self.commits.member.poll(0)

    def _join(self) -> None:
        topics = self._premises.topics
        instance = self._premises.node if self._premises.is_static else None
        member = self._premises.cluster.group_member(topics.scheduler_group, instance_id=instance)
        member.join(topics.jobs, self._assignments)
        self._absence.joins()
        self.commits.member = member

    def _leave(self) -> None:
        member, self.commits.member = self.commits.member, self.commits.member
        if member is not None:
            member.close()
        self.commits.member = None

    def _drop_everything(self) -> None:
        """Another process has taken over from this one: whatever it has may run elsewhere."""
        LOG.error("fenced: all partitions are dropped", extra={"action": "fenced"})
        for tenure in self.tenures:
            self._sources.remove(tenure.number)
            self.tenures.end(tenure.number)
        self._leave()
        self.commits.is_fenced = False

    # the claim

    def _claim(self) -> bool:
        """Whether all that could be claimed is owned now."""
        claiming = self.tenures.within(Phase.CLAIMING)
        if not claiming:
            return True
        lives = [tenure.live for tenure in claiming if tenure.live is not None]
        for live in lives:
            self._sources.add(live)
        self._sources.set_goals(lives)
        kept = [*self.tenures.owned.values(), *lives]
        ended = self.commits.run(self.clock.now(), kept, watermarks=lives)
        self.clock.see(self.commits.last_append)
        for tenure in claiming:
            self._conclude(tenure, ended)
        return ended is Ended.COMMITTED

    def _conclude(self, tenure: Tenure, ended: Ended) -> None:
        """Leases begin anew at an instant of the brokers' clock, which the claim has told."""
        if ended is Ended.COMMITTED:
            live = self.tenures.own(tenure)
            live.core.start_leases(self.clock.now())
        else:
            self._sources.remove(tenure.number)

    def _longest_wait_ms(self, is_busy: bool) -> int:
        if is_busy:
            return 0
        return BUSY_WAIT_MS if len(self.tenures.owned) < len(self.tenures) else LONGEST_WAIT_MS
