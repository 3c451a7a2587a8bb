"""The thread that reads one runs topic as a member of its group."""

import asyncio
import concurrent.futures
import logging
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Protocol

from tocsin import clock
from tocsin.broker.errors import BrokerError, Fenced, Retry
from tocsin.broker.port import Cluster, GroupConsumer, Record, TopicPartition
from tocsin_worker.intake.mailbox import Mailbox, Offsets
from tocsin_worker.intake.membership import Membership
from tocsin_worker.threads import Teller

LOG = logging.getLogger(__name__)

RELEASE_SECONDS = 10.0
"""How long the group waits for the runs of a partition that goes."""

_MAX_BATCH = 500
_POLL_SECONDS = 0.1
_BUSY_POLL_SECONDS = 0.01
_BUSY_MS = 2_000
_SILENT_MS = 500
_RETRY_SECONDS = 0.5
_ENDS_SECONDS = 5.0


class ReaderEvents(Protocol):
    """Told by a reader what happens: on the event loop, in order."""

    def joined(self) -> None:
        """The reader takes part in its group."""

    def assigned(self, ends: Mapping[int, int | None]) -> None:
        """These partitions are the reader's. With the end of each one's log at that moment; None
        where it could not be found out."""

    def received(self, records: list[Record]) -> None: ...

    def committed(self, offsets: Offsets) -> None: ...

    async def release(self, partitions: Collection[int]) -> Offsets:
        """These are about to go: finish with them, within `RELEASE_SECONDS`, and answer with the
        offsets to commit."""
        ...

    def dropped(self, partitions: Collection[int]) -> None:
        """These have gone."""

    def failed(self, error: BrokerError) -> None:
        """No repetition helps; the reader has ended."""


class RunsReader(Membership):
    """Hands whole batches to the loop, and commits what it is told, from a thread of its own.

    It runs until its mailbox says stop. It takes no more records than the mailbox allows, and
    polls on without taking any, so that it stays in its group while handlers work for as long as
    they like.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        group: str,
        mailbox: Mailbox,
        events: ReaderEvents,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(topic, group, mailbox)
        self._cluster = cluster
        self._events = events
        self._loop = loop
        self._tell = Teller(loop)

    def _fail(self, error: BrokerError) -> None:
        self._tell(self._events.failed, error)

    def _be_member(self) -> None:
        consumer = self._cluster.group_consumer(self._group)
        member = _Member(
            self._cluster, consumer, self._topic, self._mailbox, self._events, self._loop
        )
        try:
            consumer.subscribe([self._topic], member)
            while not self._mailbox.stopped:
                member.turn()
        except Fenced as error:
            LOG.warning(
                "put out of group %s: %s", self._group, error, extra={"action": "joining_again"}
            )
        finally:
            consumer.close()


class _Member:
    """A membership, and its `AssignmentListener`; all of it on the reader's thread."""

    def __init__(
        self,
        cluster: Cluster,
        consumer: GroupConsumer,
        topic: str,
        mailbox: Mailbox,
        events: ReaderEvents,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._cluster = cluster
        self._consumer = consumer
        self._topic = topic
        self._mailbox = mailbox
        self._events = events
        self._loop = loop
        self._tell = Teller(loop)
        self._paused = False
        self._joined = False
        self._polled_at = clock.monotonic_ms()
        self._received_at = clock.monotonic_ms() - _BUSY_MS

    def turn(self) -> None:
        """Commit what is asked for and poll once; raises what no repetition helps."""
        try:
            self._commit()
            if self._mailbox.room > 0:
                self._read()
            else:
                self._stay()
        except Retry as error:
            LOG.warning("reading %s: %s", self._topic, error, extra={"action": "reader_retries"})
            self._mailbox.wait(_RETRY_SECONDS)

    def on_assign(self, partitions: frozenset[TopicPartition]) -> None:
        if self._paused or self._mailbox.room <= 0:
            self._pause()
        self._tell_joined()
        if partitions:
            self._tell(self._events.assigned, self._ends(partitions))

    def on_revoke(self, partitions: frozenset[TopicPartition]) -> None:
        numbers = _numbers(partitions)
        offsets = self._release(numbers)
        self._mailbox.drop_offsets(numbers)
        try:
            if offsets:
                self._consumer.commit(self._places(offsets))
        except (Retry, Fenced) as error:
            LOG.warning(
                "%s: runs will be read again: %s",
                self._topic,
                error,
                extra={"action": "not_committed"},
            )
        finally:
            self._tell(self._events.dropped, numbers)

    def on_lost(self, partitions: frozenset[TopicPartition]) -> None:
        numbers = _numbers(partitions)
        self._mailbox.drop_offsets(numbers)
        self._tell(self._events.dropped, numbers)

    def _ends(self, partitions: frozenset[TopicPartition]) -> dict[int, int | None]:
        try:
            with closing(self._cluster.log_reader()) as reader:
                ends = reader.end_offsets(partitions, _ENDS_SECONDS)
        except Retry as error:
            LOG.warning(
                "%s: unknown ends: %s", self._topic, error, extra={"action": "ends_unknown"}
            )
            return dict.fromkeys(_numbers(partitions))
        return {place.partition: end for place, end in ends.items()}

    def _release(self, numbers: list[int]) -> Offsets:
        """Blocks until the loop has done with these partitions."""
        answer = asyncio.run_coroutine_threadsafe(self._events.release(numbers), self._loop)
        try:
            return answer.result(RELEASE_SECONDS + 1)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            answer.cancel()
            LOG.warning(
                "%s: partitions %s were not released in time",
                self._topic,
                numbers,
                extra={"action": "release_incomplete"},
            )
            return {}

    def _commit(self) -> None:
        offsets = self._mailbox.take_offsets()
        if not offsets:
            return
        try:
            self._consumer.commit(self._places(offsets))
        except Fenced as error:
            # As a rule a rebalance is under way: what the member keeps can be committed after it,
            # and what it loses is dropped then.
            LOG.info("%s: offsets wait: %s", self._topic, error, extra={"action": "rebalancing"})
            self._mailbox.put_back(offsets)
        except Retry:
            self._mailbox.put_back(offsets)
            raise
        else:
            self._tell(self._events.committed, offsets)

    def _read(self) -> None:
        if self._paused:
            self._consumer.resume(self._consumer.assignment())
            self._paused = False
        self._poll(min(self._mailbox.room, _MAX_BATCH), self._poll_seconds())

    def _stay(self) -> None:
        """No room: wait for some, and now and then take part in the group without reading.

        Partitions are paused only when this lasts, since pausing throws away what was fetched.
        """
        self._mailbox.wait(_POLL_SECONDS)
        if self._mailbox.room <= 0 and clock.monotonic_ms() - self._polled_at >= _SILENT_MS:
            if not self._paused:
                self._pause()
            self._poll(1, 0)

    def _pause(self) -> None:
        self._consumer.pause(self._consumer.assignment())
        self._paused = True

    def _poll(self, max_records: int, seconds: float) -> None:
        records = self._consumer.poll_batch(max_records, seconds)
        self._polled_at = clock.monotonic_ms()
        if records:
            self._received_at = self._polled_at
            self._mailbox.sent(len(records))
            self._tell(self._events.received, records)

    def _poll_seconds(self) -> float:
        """Short while there may be offsets to commit: a poll cannot be woken up."""
        busy = clock.monotonic_ms() - self._received_at < _BUSY_MS
        return _BUSY_POLL_SECONDS if busy else _POLL_SECONDS

    def _tell_joined(self) -> None:
        if not self._joined:
            self._joined = True
            self._tell(self._events.joined)

    def _places(self, offsets: Offsets) -> dict[TopicPartition, int]:
        return {TopicPartition(self._topic, number): at for number, at in offsets.items()}


def _numbers(partitions: Collection[TopicPartition]) -> list[int]:
    return sorted(place.partition for place in partitions)
