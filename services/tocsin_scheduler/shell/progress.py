"""Notices partitions that deliver nothing though their log goes on.

A client may keep its place in the group, and its connections, and yet get no record of one
partition any more, as after its leader has moved. Nothing fails then, and nobody is told.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from tocsin.broker.port import TopicPartition
from tocsin_scheduler.shell.broker_clock import Clock

LOG = logging.getLogger(__name__)

STALLED_MS = 30_000
"""Readers of one partition may have to wait for an open transaction: for 10 s, as a rule."""


class _Stand(NamedTuple):
    position: int
    since: int


class Progress:
    """Where each partition's reading stands, and since when. May be used on any one thread."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._stands: dict[TopicPartition, _Stand] = {}
        self._told: set[TopicPartition] = set()

    def look(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> list[TopicPartition]:
        """Those that have stood still for 30 s before a part of the log that could be read.

        positions: how far they had been read. ends: asked for later than that, the last stable
        offsets; partitions of which it is not known are left out.
        """
        now = self._clock.monotonic_ms()
        behind = {tp: at for tp, at in positions.items() if at < ends.get(tp, at)}
        former = self._stands
        self._stands = {
            tp: former[tp] if tp in former and former[tp].position == at else _Stand(at, now)
            for tp, at in behind.items()
        }
        stalled = [tp for tp, stand in self._stands.items() if now - stand.since >= STALLED_MS]
        self._tell(stalled)
        return stalled

    def _tell(self, stalled: list[TopicPartition]) -> None:
        """Of each once, until it has gone on."""
        for tp in sorted(set(stalled) - self._told):
            LOG.error(
                "%s[%d]: nothing has been delivered behind offset %d for %d s, and there is more",
                *tp,
                self._stands[tp].position,
                STALLED_MS // 1_000,
                extra={"action": "partition_stalled", "topic": tp[0], "partition": tp[1]},
            )
        self._told = set(stalled)
