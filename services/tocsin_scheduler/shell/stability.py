"""Notices transactions of others that hold up the readers of our topics."""

import logging
from collections.abc import Collection, Mapping

from tocsin.broker.port import Cluster, Isolation, TopicPartition
from tocsin_scheduler.shell.broker_clock import Clock

LOG = logging.getLogger(__name__)

ALARM_MS = 10_000
REQUEST_S = 5.0


class Stability:
    """Compares last stable offsets with high watermarks. May run on any one thread at a time.

    stable_offsets: those of the last look.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._committed = cluster.log_reader()
        self._hasty = cluster.log_reader(isolation=Isolation.UNCOMMITTED)
        self._clock = clock
        self._since: dict[TopicPartition, tuple[int, int]] = {}
        self.stable_offsets: Mapping[TopicPartition, int] = {}

    def look(self, partitions: Collection[TopicPartition]) -> list[TopicPartition]:
        """Those whose last stable offset has stood still behind the end for 10 s.

        Raises BrokerErrors.
        """
        if not partitions:
            return []
        ends = self._hasty.end_offsets(partitions, REQUEST_S)
        self.stable_offsets = stable = self._committed.end_offsets(partitions, REQUEST_S)
        behind = {tp: stable[tp] for tp in partitions if stable[tp] < ends[tp]}
        return [tp for tp, offset in self._note(behind).items() if self._is_old(tp, offset)]

    def close(self) -> None:
        self._committed.close()
        self._hasty.close()

    def _note(self, behind: dict[TopicPartition, int]) -> dict[TopicPartition, int]:
        now = self._clock.monotonic_ms()
        former = self._since
        self._since = {
            tp: former[tp] if tp in former and former[tp][0] == offset else (offset, now)
            for tp, offset in behind.items()
        }
        return behind

    def _is_old(self, tp: TopicPartition, offset: int) -> bool:
        since = self._since[tp][1]
        if self._clock.monotonic_ms() - since < ALARM_MS:
            return False
        LOG.error(
            "%s[%d]: readers have been held up at offset %d for over 10 s by an open transaction",
            *tp,
            offset,
            extra={"action": "stable_offset_lags", "topic": tp.topic, "partition": tp.partition},
        )
        return True
