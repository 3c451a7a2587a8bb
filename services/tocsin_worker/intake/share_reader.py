"""The thread that takes runs from a share group."""

import asyncio
import concurrent.futures
import logging
from collections.abc import Collection
from contextlib import suppress
from typing import Protocol

from tocsin.broker.errors import BrokerError, Fenced, Retry
from tocsin.broker.port import Cluster, Record, RecordPlace, ShareConsumer
from tocsin_worker.intake.mailbox import Mailbox
from tocsin_worker.intake.membership import Membership
from tocsin_worker.intake.reader import RELEASE_SECONDS
from tocsin_worker.intake.share_lane import Held
from tocsin_worker.threads import Teller

LOG = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_RETRY_SECONDS = 0.5


class ShareMailbox(Mailbox):
    """Beside what every reader is told: which records have been done with."""

    def __init__(self) -> None:
        super().__init__()
        self._done: list[Held] = []

    def accept(self, held: Collection[Held]) -> None:
        """Accept these soon."""
        with self._lock:
            self._done += held
        self._wake.set()

    def take_done(self) -> list[Held]:
        """What is to be accepted since the last call."""
        with self._lock:
            done, self._done = self._done, []
        return done


class ShareReaderEvents(Protocol):
    """Told by a reader what happens: on the event loop, in order."""

    def joined(self) -> None:
        """The reader takes part in its group."""

    def received(self, records: list[Record]) -> None: ...

    def accepted(self, held: list[Held]) -> None: ...

    async def release(self) -> None:
        """The reader is about to leave: finish with everything, within `RELEASE_SECONDS`."""

    def failed(self, error: BrokerError) -> None:
        """No repetition helps; the reader has ended."""


class ShareReader(Membership):
    """Takes no more records than the mailbox allows, and the next only when all of the last have
    been accepted, as the group demands."""

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        group: str,
        slots: int,
        mailbox: ShareMailbox,
        events: ShareReaderEvents,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(topic, group, mailbox)
        self._cluster = cluster
        self._slots = slots
        self._letters = mailbox
        self._events = events
        self._loop = loop
        self._tell = Teller(loop)
        self._held: set[Held] = set()

    def _be_member(self) -> None:
        try:
            consumer = self._cluster.share_consumer(
                self._group, self._topic, max_records=self._slots
            )
        except Retry as error:
            self._pause(error)
            return
        try:
            self._tell(self._events.joined)
            while not self._mailbox.stopped:
                self._turn(consumer)
            self._leave(consumer)
        except Fenced as error:
            LOG.warning(
                "put out of group %s: %s", self._group, error, extra={"action": "joining_again"}
            )
        finally:
            self._forget()
            consumer.close()

    def _fail(self, error: BrokerError) -> None:
        self._tell(self._events.failed, error)

    def _turn(self, consumer: ShareConsumer) -> None:
        try:
            self._accept(consumer)
            if not self._held and self._mailbox.room > 0:
                self._read(consumer)
            else:
                self._mailbox.wait(_POLL_SECONDS)
        except Retry as error:
            self._pause(error)

    def _read(self, consumer: ShareConsumer) -> None:
        records = consumer.poll_batch(_POLL_SECONDS)
        if records:
            self._held.update(Held(record.partition, record.offset) for record in records)
            self._mailbox.sent(len(records))
            self._tell(self._events.received, records)

    def _accept(self, consumer: ShareConsumer) -> None:
        """Whether or not it succeeds: what was claimed goes on, and whoever else is given the
        record is told to leave it alone."""
        done = [held for held in dict.fromkeys(self._letters.take_done()) if held in self._held]
        if not done:
            return
        try:
            consumer.accept([RecordPlace(self._topic, *held) for held in done])
        finally:
            self._held.difference_update(done)
            self._tell(self._events.accepted, done)

    def _leave(self, consumer: ShareConsumer) -> None:
        answer = asyncio.run_coroutine_threadsafe(self._events.release(), self._loop)
        while not answer.done() and not self._loop.is_closed():
            self._mailbox.wait(_POLL_SECONDS)
            with suppress(Retry):
                self._accept(consumer)
        with suppress(concurrent.futures.CancelledError):
            answer.result(RELEASE_SECONDS)
        self._accept(consumer)

    def _forget(self) -> None:
        """What is still held goes to others."""
        held, self._held = list(self._held), set()
        if held:
            self._tell(self._events.accepted, held)

    def _pause(self, error: Retry) -> None:
        LOG.warning("reading %s: %s", self._topic, error, extra={"action": "reader_retries"})
        self._mailbox.wait(_RETRY_SECONDS)
