"""What the group tells: partitions that come and go."""

import logging
from collections.abc import Collection

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import TopicPartition
from tocsin_scheduler.shell.broker_clock import BrokerClock, Clock
from tocsin_scheduler.shell.commits import Commits, Ended
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.ownership import Tenures
from tocsin_scheduler.shell.sources import Sources
from tocsin_scheduler.shell.transaction import Limits

LOG = logging.getLogger(__name__)

RELEASE_MS = 6_000
"""All that a revocation may take; the whole group waits for it."""
ATTEMPTS = 2


class Assignments:
    """The group's listener. No turn is open while it is called."""

    def __init__(
        self,
        tenures: Tenures,
        sources: Sources,
        commits: Commits,
        now: BrokerClock,
        clock: Clock,
    ) -> None:
        self._tenures = tenures
        self._sources = sources
        self._commits = commits
        self._now = now
        self._clock = clock

    def on_assign(self, partitions: frozenset[TopicPartition]) -> None:
        for tp in sorted(partitions):
            self._tenures.begin(tp.partition)

    def on_revoke(self, partitions: frozenset[TopicPartition]) -> None:
        """Clean: the last pairs are committed with no owner, so that nobody has to fence us."""
        numbers = sorted(tp.partition for tp in partitions)
        released = [self._tenures.owned[n] for n in numbers if n in self._tenures.owned]
        kept = [live for n, live in self._tenures.owned.items() if n not in numbers]
        try:
            if released:
                self._release(kept, released)
        finally:
            self._let_go(numbers)

    def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        """Dirty: they may run elsewhere already, so nothing is written."""
        numbers = sorted(tp.partition for tp in partitions)
        LOG.warning(
            "lost partitions %s", numbers, extra={"action": "partitions_lost", "numbers": numbers}
        )
        self._let_go(numbers)

    def _release(self, kept: Collection[Live], released: Collection[Live]) -> None:
        """Failure is no harm: who comes next fences this process's producer."""
        deadline = self._clock.monotonic_ms() + RELEASE_MS
        for _ in range(ATTEMPTS):
            left_s = (deadline - self._clock.monotonic_ms()) / 1000
            if left_s <= 0:
                break
            limits = Limits(left_s / 3, left_s / 3, left_s / 3)
            try:
                ended = self._commits.run(self._now.now(), kept, released, limits=limits)
            except BrokerError as error:
                LOG.warning("release: %s", error, extra={"action": "release_failed"})
                continue
            if ended in (Ended.COMMITTED, Ended.FENCED):
                break

    def _let_go(self, numbers: Collection[int]) -> None:
        for number in numbers:
            self._sources.remove(number)
            self._tenures.end(number)
