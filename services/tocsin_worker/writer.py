"""Writing to the log from the event loop, with the certainty that it has been heard."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tocsin.broker.errors import BrokerError, OutcomeUnknown, Retry
from tocsin.broker.port import Delivered, Producer
from tocsin_worker.timers import Timer, Timers

LOG = logging.getLogger(__name__)

Heard = Callable[[], None]

_POLL_MS = 2
_PATIENT_POLL_MS = 20
_EAGER_POLLS = 50
_REPEAT_MS = 1_000


@dataclass(slots=True)
class _Record:
    """A record on its way. It refers to nothing that refers to it: there are many."""

    topic: str
    key: bytes
    value: bytes | None
    heard: Heard | None
    repeat: bool
    on_report: "Callable[[_Record, Delivered | BrokerError], None]"

    def reported(self, report: Delivered | BrokerError) -> None:
        self.on_report(self, report)


class LogWriter:
    """Writes records that may stand in the log twice, and calls back when each is there.

    A record whose delivery failed is written again until it is heard. Belongs to the event loop's
    thread; reports are served there too, every few milliseconds while some are outstanding.
    """

    def __init__(
        self, producer: Producer, timers: Timers, failed: Callable[[BrokerError], None]
    ) -> None:
        """`failed` is told of an error that no repetition helps."""
        self._producer = producer
        self._timers = timers
        self._failed = failed
        self._poll_timer: Timer | None = None
        self._idle_polls = 0
        self._settled = asyncio.Event()
        self._settled.set()
        self._owed = 0
        self.outstanding = 0

    def write(
        self,
        topic: str,
        key: bytes,
        value: bytes | None,
        heard: Heard | None = None,
        *,
        repeat: bool = True,
    ) -> None:
        """`heard` is called on the loop once the record is in the log. Without `repeat` it is
        written once, and never heard if that fails."""
        self._expect()
        self._owed += repeat
        self._produce(_Record(topic, key, value, heard, repeat, self._reported))

    async def settle(self, timeout_ms: int) -> bool:
        """Wait until everything written has been heard; False if time was up before, and something
        that is repeated until it is heard was not."""
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                await self._settled.wait()
        except TimeoutError:
            return self._owed == 0
        return True

    def _produce(self, record: "_Record") -> None:
        try:
            self._producer.produce(
                record.topic, record.key, record.value, on_delivery=record.reported
            )
        except BrokerError as error:
            record.reported(error)

    def _reported(self, record: "_Record", report: Delivered | BrokerError) -> None:
        if not isinstance(report, BrokerError):
            self._owed -= record.repeat
            self._done(record.heard)
        elif not isinstance(report, Retry | OutcomeUnknown):
            self._failed(report)
        elif record.repeat:
            LOG.warning("a record is written again: %s", report, extra={"action": "write_repeated"})
            self._timers.after(_REPEAT_MS, partial(self._produce, record))
        else:
            LOG.warning("a record was not written: %s", report, extra={"action": "write_given_up"})
            self._done(None)

    def _expect(self) -> None:
        self.outstanding += 1
        self._settled.clear()
        self._idle_polls = 0
        if self._poll_timer is None:
            self._poll_timer = self._timers.after(_POLL_MS, self._poll)

    def _done(self, heard: Heard | None) -> None:
        self.outstanding -= 1
        if heard is not None:
            heard()
        if self.outstanding == 0:
            self._settled.set()

    def _poll(self) -> None:
        self._poll_timer = None
        try:
            served = self._producer.poll(0)
            self._idle_polls = 0 if served else self._idle_polls + 1
        except BrokerError as error:
            self._failed(error)
        finally:
            if self.outstanding:
                delay = _POLL_MS if self._idle_polls < _EAGER_POLLS else _PATIENT_POLL_MS
                self._poll_timer = self._timers.after(delay, self._poll)
