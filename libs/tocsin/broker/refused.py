"""Records that have no effect, because nothing can be read from them or it is not valid: never
fatal, never silent."""

import logging

from tocsin.broker.port import Record

LOG = logging.getLogger(__name__)


def log_refused(record: Record, reason: object) -> None:
    """Says where the record is, for whoever wants to look at it; not what is in it."""
    log_refused_at(record.topic, record.partition, record.offset, reason)


def log_refused_at(topic: str, partition: int, offset: int, reason: object) -> None:
    """The same, where only the place is known."""
    LOG.warning(
        "%s[%d]@%d is refused: %s",
        topic,
        partition,
        offset,
        reason,
        extra={
            "action": "record_refused",
            "topic": topic,
            "partition": partition,
            "offset": offset,
        },
    )
