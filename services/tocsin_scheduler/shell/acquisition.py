"""From assigned to claimed: takeover in the background, restore in slices, claim."""

import logging
from collections.abc import Collection
from concurrent.futures import Executor
from functools import partial

from tocsin.broker.errors import BrokerError, Die, Rebuild
from tocsin.broker.port import TopicPartition
from tocsin.memory import give_back
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.partition import Partition
from tocsin_scheduler.core.restoration import Restoration
from tocsin_scheduler.core.store import StoreDamaged
from tocsin_scheduler.shell.checkpoint import Checkpoint, objection, read_checkpoint
from tocsin_scheduler.shell.estate import Estate
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.ownership import Estates, Phase, Tenure, Tenures
from tocsin_scheduler.shell.premises import Premises
from tocsin_scheduler.shell.producer_seat import ProducerSeat
from tocsin_scheduler.shell.read_back import ReadBack
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.shell.restore import Restore
from tocsin_scheduler.shell.spans import Span, SpanReader
from tocsin_scheduler.shell.takeover import Takeover
from tocsin_scheduler.store.local import LocalStore

LOG = logging.getLogger(__name__)

SLICE_RECORDS = 500
PAUSE_MS = 500
MANY_RECORDS = 50_000
"""What so many records take while they are read is worth giving back."""


class Acquisition:
    """Brings every assigned partition to the point where it can be claimed.

    `executor` runs takeovers; whatever else is slow happens here in slices, so that partitions
    that are owned already do not wait.
    """

    def __init__(
        self,
        premises: Premises,
        tenures: Tenures,
        seat: ProducerSeat,
        report: Report,
        executor: Executor,
    ) -> None:
        self._premises = premises
        self._tenures = tenures
        self._seat = seat
        self._report = report
        self._executor = executor
        self._takeover = Takeover(premises.cluster, premises.topics)
        self._spans = SpanReader(premises.cluster)
        self._not_before = 0

    def step(self, now: int, timeout: float) -> bool:
        """Go on a little with each; whether there is more that does not have to wait.

        timeout: seconds to wait for records. Raises `Retry`, `Die`.
        """
        self._start(now)
        self._collect(now)
        was_of_use = self._read_slice(timeout)
        restoring = self._restoring()
        indexing = [self._step_one(tenure, now) for tenure in restoring]
        if restoring and not self._restoring():
            self._tidy()
        return was_of_use or any(indexing)

    def _tidy(self) -> None:
        """After a restore that was worth it."""
        if self._spans.taken >= MANY_RECORDS:
            self._executor.submit(give_back)
        self._spans.taken = 0

    @property
    def remaining(self) -> int:
        """Records still to read before all can fire, at most."""
        restores = (tenure.restore for tenure in self._restoring())
        return sum(restore.remaining for restore in restores if restore is not None)

    def recall(self, live: Live, recent: int) -> None:
        """Read the outcomes of the last minutes before its time, in the background."""
        place = TopicPartition(self._premises.topics.outcomes, live.number)
        live.memory = Span(place, recent, live.core.offsets.outcomes, live.core.remember)
        self._spans.add(live.memory)

    def close(self) -> None:
        self._spans.close()

    # the takeover

    def _start(self, now: int) -> None:
        assigned = self._tenures.within(Phase.ASSIGNED)
        pauses = 0 < self._not_before - now <= PAUSE_MS
        if not assigned or pauses or self._seat.producer is None:
            return
        numbers = [tenure.number for tenure in assigned]
        memory_ms = self._premises.config.ended_ms
        estates = self._executor.submit(
            self._takeover.run, numbers, self._seat.harmless_ids, now, memory_ms
        )
        for tenure in assigned:
            tenure.fence(estates)

    def _collect(self, now: int) -> None:
        for tenure in self._tenures.within(Phase.FENCING):
            assert tenure.estates is not None
            if tenure.estates.done():
                self._begin_restore(tenure, tenure.estates, now)

    def _begin_restore(self, tenure: Tenure, estates: Estates, now: int) -> None:
        """Or start over after a pause, where the takeover has failed."""
        try:
            self._open(tenure, estates.result()[tenure.number], now)
        except (BrokerError, StoreDamaged) as error:
            LOG.warning(
                "partition %d cannot be taken over yet: %s",
                tenure.number,
                error,
                extra={"action": "takeover_failed", "partition": tenure.number},
            )
            self._tenures.start_over(tenure)
            self._not_before = now + PAUSE_MS
            if isinstance(error, Die):
                raise

    # the restore

    def _open(self, tenure: Tenure, estate: Estate, now: int) -> None:
        store = self._premises.stores.open(self._premises.store_name(tenure.number))
        try:
            checkpoint = self._usable_checkpoint(tenure.number, store, estate, now)
            config = self._premises.config_of(tenure.number)
            tenure.restore_by(
                Restore(
                    store,
                    config,
                    estate,
                    self._premises.log.sources,
                    checkpoint,
                    self._spans,
                    partial(self._read_back, config),
                    self._report.refused,
                )
            )
        except BaseException:
            store.close()
            raise

    def _read_back(
        self, config: CoreConfig, restoration: Restoration, outcomes: int, since: int, now: int
    ) -> ReadBack:
        premises = self._premises
        LOG.error(
            "partition %d goes on from its last watermark: the group's offsets are not ours",
            config.partition,
            extra={"action": "offsets_foreign", "partition": config.partition},
        )
        self._report.alarm("offsets_foreign")
        topics = premises.run_topics()
        return ReadBack(
            premises.cluster,
            config,
            restoration,
            topics,
            outcomes,
            since,
            now,
            self._report.refused,
        )

    def _usable_checkpoint(
        self, number: int, store: LocalStore, estate: Estate, now: int
    ) -> Checkpoint | None:
        """The store is empty where there is none."""
        premises = self._premises
        checkpoint = read_checkpoint(store)
        reason = objection(checkpoint, premises.log, estate, now, premises.config.compaction_lag_ms)
        if reason is None:
            return checkpoint
        LOG.info(
            "partition %d is restored from the log alone: its store cannot be used, %s",
            number,
            reason,
            extra={"action": "restore_cold", "partition": number, "reason": reason},
        )
        if next(store.scan(b"", b"\xff"), None) is not None:
            store.wipe()
        return None

    def _read_slice(self, timeout: float) -> bool:
        try:
            return self._spans.read(SLICE_RECORDS, timeout)
        except Rebuild as error:
            self._rebuild(error)
            return True

    def _rebuild(self, error: Rebuild) -> None:
        """What was to be read is not in the log any more."""
        tenure = None if error.partition is None else self._tenures.get(error.partition)
        LOG.warning("%s", error, extra={"action": "rebuild"})
        if tenure is not None and tenure.restore is not None:
            self._begin_anew(tenure, tenure.restore.store)
        elif tenure is not None and tenure.live is not None and tenure.live.memory is not None:
            tenure.live.memory.reached(tenure.live.memory.through)

    def _restoring(self) -> list[Tenure]:
        return self._tenures.within(Phase.RESTORING)

    def _step_one(self, tenure: Tenure, now: int) -> bool:
        """Whether it can go on at once."""
        restore = tenure.restore
        assert restore is not None
        try:
            if restore.step(now):
                self._build(tenure, restore)
        except StoreDamaged as error:
            LOG.warning("%s", error, extra={"action": "store_damaged"})
            self._begin_anew(tenure, restore.store)
        return restore.is_working

    def _build(self, tenure: Tenure, restore: Restore) -> None:
        premises, estate = self._premises, restore.estate
        if restore.made_again:
            self._tell_made_again(tenure.number, restore.made_again)
        place, offsets = restore.accounted
        config = premises.config_of(tenure.number)
        core = Partition(restore.store, config, place, estate.clamped(offsets))
        core.forget()
        live = Live(tenure.number, core, restore.store, premises.log, restore.state_offset)
        live.since = restore.since
        tenure.claim(live)
        self.recall(live, estate.recent)

    def _tell_made_again(self, number: int, topics: Collection[str]) -> None:
        names = ", ".join(topics)
        LOG.error(
            "partition %d: %s has been deleted and made again, and is read from its beginning",
            number,
            names,
            extra={"action": "topic_made_again", "partition": number, "topics": names},
        )
        self._report.alarm("topic_made_again")

    def _begin_anew(self, tenure: Tenure, store: LocalStore) -> None:
        store.delete()
        self._tenures.start_over(tenure)
