"""Reading without a group."""

from collections.abc import Collection, Mapping

import confluent_kafka as ck

from tocsin.broker.kafka.clients import make_client
from tocsin.broker.kafka.logs import PendingErrors
from tocsin.broker.kafka.messages import (
    committed_of,
    offsets_of,
    place_of,
    to_client,
    to_client_at,
    to_error,
    to_record,
)
from tocsin.broker.kafka.settings import Conf
from tocsin.broker.kafka.translate import translating
from tocsin.broker.port import Committed, Record, TopicPartition

PARTITION_EOF = ck.KafkaError._PARTITION_EOF


class KafkaLogReader:
    """See `tocsin.broker.port.LogReader`."""

    def __init__(self, conf: Conf) -> None:
        self._conf = conf
        self._errors = PendingErrors()
        self._consumer = make_client(ck.Consumer, {**conf, "error_cb": self._errors.error_cb})
        self._asker: ck.Consumer | None = None
        # Where each partition's reading began, or the newest end it met, if that is further.
        self._floors: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}

    def assign(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.unassign(offsets)
        with translating("assign partitions"):
            self._consumer.incremental_assign(to_client_at(offsets))
        self._floors.update(offsets)

    def unassign(self, partitions: Collection[TopicPartition]) -> None:
        held = [tp for tp in partitions if tp in self._floors]
        if held:
            with translating("unassign partitions"):
                self._consumer.incremental_unassign(to_client(held))
        self._errors.forget(held)
        for tp in held:
            del self._floors[tp]
            self._ends.pop(tp, None)

    def pause(self, partitions: Collection[TopicPartition]) -> None:
        with translating("pause partitions"):
            self._consumer.pause(to_client(self._floors.keys() & set(partitions)))

    def resume(self, partitions: Collection[TopicPartition]) -> None:
        with translating("resume partitions"):
            self._consumer.resume(to_client(self._floors.keys() & set(partitions)))

    def poll_batch(self, max_records: int, timeout: float) -> list[Record]:
        self._errors.raise_first()
        with translating("read"):
            first = self._consumer.poll(timeout)
            more = first is not None and max_records > 1
            rest = self._consumer.consume(max_records - 1, 0) if more else []
        messages = rest if first is None else [first, *rest]
        records = [to_record(m) for m in messages if m.error() is None or self._note(m)]
        if not records:
            self._errors.raise_first()
        return records

    def take_ends(self) -> dict[TopicPartition, int]:
        ends, self._ends = self._ends, {}
        return ends

    def position(self, partition: TopicPartition) -> int:
        with translating("tell a position"):
            (place,) = self._consumer.position(to_client([partition]))
        return max(place.offset, self._floors[partition])

    def begin_offsets(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, ck.OFFSET_BEGINNING), timeout)

    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, ck.OFFSET_END), timeout)

    def offsets_since(
        self, instants: Mapping[TopicPartition, int], timeout: float
    ) -> dict[TopicPartition, int]:
        """The client gives -1 where no record is that young."""
        found = self._offsets(instants, timeout)
        older = [tp for tp, offset in found.items() if offset < 0]
        return found | (self.end_offsets(older, timeout) if older else {})

    def committed(
        self, partitions: Collection[TopicPartition], timeout: float
    ) -> dict[TopicPartition, Committed]:
        doing = "read committed offsets"
        with translating(doing):
            answers = self._consumer.committed(to_client(partitions), timeout)
        return committed_of(answers, doing)

    def close(self) -> None:
        self._consumer.close()
        if self._asker is not None:
            self._asker.close()

    def _note(self, message: ck.Message) -> bool:
        """Remember an end or an error that came in the place of a record, unless it is a late one
        of a partition that is not read any more. False: it is no record."""
        error, tp = message.error(), place_of(message)
        if tp is not None and tp not in self._floors:
            return False
        if tp is None or error is None or error.code() != PARTITION_EOF:
            self._errors.add(to_error(message, "read"))
        else:
            self._floors[tp] = self._ends[tp] = message.offset() or 0
        return False

    def _offsets(
        self, instants: Mapping[TopicPartition, int], timeout: float
    ) -> dict[TopicPartition, int]:
        """The client hands 'beginning' and 'end' to the broker as the times that they are there:
        one ListOffsets request a broker, by this reader's isolation level. Over a connection of
        its own: on the reading one it would wait behind a fetch."""
        if self._asker is None:
            self._asker = make_client(ck.Consumer, self._conf)
        doing = "ask for offsets"
        query = to_client_at(instants)
        with translating(doing):
            answers = self._asker.offsets_for_times(query, timeout)
        return offsets_of(answers, doing)
