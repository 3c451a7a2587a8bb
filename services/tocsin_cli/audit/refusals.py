"""What could not be read: each counted, and as many named as somebody can look at."""

import logging
from collections import Counter

from tocsin.broker.port import Record
from tocsin.broker.refused import log_refused_at

LOG = logging.getLogger(__name__)

NAMED = 100
"""Of each topic so many records are named in the log; a topic of nothing else would fill it."""


class Refusals:
    """counts: by topic, how many records could not be read."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def note(self, record: Record, reason: object) -> None:
        self.note_at(record.topic, record.partition, record.offset, reason)

    def note_at(self, topic: str, partition: int, offset: int, reason: object) -> None:
        """Count the record at this place, and say in the log where it is and why it is refused."""
        self.counts[topic] += 1
        if self.counts[topic] <= NAMED:
            log_refused_at(topic, partition, offset, reason)
        elif self.counts[topic] == NAMED + 1:
            extra = {"action": "records_refused", "topic": topic}
            LOG.warning("further refused records of %s are only counted", topic, extra=extra)
