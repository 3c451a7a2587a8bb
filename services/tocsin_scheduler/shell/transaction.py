"""One transaction for all owned partitions: runs, state, events, offsets, watermarks.

    prepare (the core, on an overlay) ─► commit (here) ─► post (each partition's store)

The offsets of *every* owned partition go with each transaction, even if nothing was consumed: the
group's generation, which travels with them, guards nothing else.
"""

import logging
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from tocsin.broker.errors import AbortTransaction, OutcomeUnknown, RecordRefused, Retry
from tocsin.broker.port import (
    Delivered,
    DeliveryCallback,
    GroupMetadata,
    TopicPartition,
    TransactionalProducer,
)
from tocsin.model.state import Watermark
from tocsin.wire.codec import WATERMARK
from tocsin.wire.headers import Headers, log_header
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.output import Outgoing
from tocsin_scheduler.core.placing import Chooser
from tocsin_scheduler.shell.live import Live
from tocsin_scheduler.shell.metadata import SIBLING, WATERMARK_KEY, Mark, encode_mark

LOG = logging.getLogger(__name__)


class Limits(NamedTuple):
    """Seconds that each step may take. All together stay below 30, after which the group puts a
    member out, and each below the 10 after which the brokers abort a transaction."""

    flush: float = 8.0
    offsets: float = 5.0
    commit: float = 5.0


class Transaction:
    """What one transaction is made of, before it is run.

    kept: the partitions that `owner`, the producer's transactional id, owns and goes on owning;
    their open turns are committed. released: partitions that are given up; their last pair is
    committed with no owner. watermarks: of these, and of those released, a `%watermark` record
    is written. now: epoch milliseconds, the time in those records, where no earlier one counts.
    """

    def __init__(
        self,
        topics: Topics,
        owner: str,
        now: int,
        kept: Collection[Live],
        released: Collection[Live],
        watermarks: Collection[Live],
    ) -> None:
        self._topics = topics
        self._owner = owner
        self._now = now
        self._kept = kept
        self._released = released
        self._watermarks = watermarks

    def run(
        self,
        producer: TransactionalProducer,
        group: GroupMetadata,
        choosers: Mapping[str, Chooser],
        limits: Limits,
    ) -> None:
        """Begin, write, commit. Raises BrokerErrors as the port says; what was begun is open then.

        Blocks for 10 to 50 ms, at most as long as all limits together.
        """
        producer.begin()
        for live in self._kept:
            if live.is_open:
                self._write(producer, live, choosers)
        for live in self._watermarks:
            self._write_watermark(producer, live, self._owner)
        for live in self._released:
            self._write_watermark(producer, live, "")
        producer.flush(limits.flush)
        producer.send_offsets(self._offsets(), group, limits.offsets)
        _commit(producer, limits.commit)

    def _write(
        self, producer: TransactionalProducer, live: Live, choosers: Mapping[str, Chooser]
    ) -> None:
        produce = producer.produce
        records = live.core.prepared()
        last = records.pop() if records else None
        for record in records:
            topic, key, value, partition, headers = record
            if partition is None and topic in choosers:
                partition = choosers[topic].take()
            try:
                produce(topic, key, value, partition, _listed(headers))
            except RecordRefused as error:
                _refused(record, error)
        if last is not None:
            self._write_last(producer, live, last, choosers)

    def _write_last(
        self,
        producer: TransactionalProducer,
        live: Live,
        record: Outgoing,
        choosers: Mapping[str, Chooser],
    ) -> None:
        """The changelog comes last: its last record tells where the state topic stands."""
        topic, key, value, partition, headers = record
        if partition is None and topic in choosers:
            partition = choosers[topic].take()
        noted = _noting_state(live) if topic == self._topics.state else None
        try:
            producer.produce(topic, key, value, partition, _listed(headers), noted)
        except RecordRefused as error:
            _refused(record, error)

    def _write_watermark(self, producer: TransactionalProducer, live: Live, owner: str) -> None:
        place, offsets = live.committing
        value = WATERMARK.encode(
            Watermark(
                place=place,
                jobs=offsets.jobs,
                signals=offsets.signals,
                outcomes=offsets.outcomes,
                owner=owner,
                time=self._now if live.since is None else live.since,
            )
        )
        producer.produce(
            self._topics.state,
            WATERMARK_KEY + str(live.number).encode(),
            value,
            live.number,
            [log_header(live.log.sources)],
            _noting_state(live),
        )

    def _offsets(self) -> dict[TopicPartition, tuple[int, str]]:
        offsets: dict[TopicPartition, tuple[int, str]] = {}
        for live in self._kept:
            offsets.update(self._offsets_of(live, self._owner))
        for live in self._released:
            offsets.update(self._offsets_of(live, None))
        return offsets

    def _offsets_of(
        self, live: Live, owner: str | None
    ) -> Iterable[tuple[TopicPartition, tuple[int, str]]]:
        place, offsets = live.committing
        topics, number = self._topics, live.number
        mark = encode_mark(Mark(place, owner, live.since))
        return (
            (TopicPartition(topics.jobs, number), (offsets.jobs, mark)),
            (TopicPartition(topics.signals, number), (offsets.signals, SIBLING)),
            (TopicPartition(topics.outcomes, number), (offsets.outcomes, SIBLING)),
        )


def _commit(producer: TransactionalProducer, limit_s: float) -> None:
    try:
        producer.commit(limit_s)
    except AbortTransaction:
        raise
    except Retry as error:
        reason = f"the commit was not answered: {error.reason}"
        raise OutcomeUnknown(reason, code=error.code) from error


def _listed(headers: Headers | None) -> list[tuple[str, bytes]] | None:
    return None if headers is None else list(headers)


def _noting_state(live: Live) -> DeliveryCallback:
    def note(delivery: object) -> None:
        if isinstance(delivery, Delivered) and delivery.offset is not None:
            live.state_offset = delivery.offset + 1

    return note


def _refused(record: Outgoing, error: RecordRefused) -> None:
    """Too large for the client: nothing but this record is wrong, so the rest goes on."""
    LOG.error(
        "a record for %s of %d bytes was left out: %s",
        record.topic,
        len(record.value or b""),
        error,
        extra={"action": "record_left_out", "topic": record.topic},
    )
