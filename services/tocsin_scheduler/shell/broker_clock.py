"""What time it is, as the log's brokers see it.

The wall clock counts while it is within a second of the brokers'; otherwise theirs does, which is
known from append times. A report that was long under way makes their clock look slow, never fast:
of the newest readings the fastest is believed.
"""

import logging
from collections import deque
from typing import Protocol

from tocsin.broker.port import AppendTime

LOG = logging.getLogger(__name__)

TOLERANCE_MS = 1_000
_READINGS = 16
_READING_LASTS_MS = 150_000


class Clock(Protocol):
    """`tocsin.clock`, or a clock that a test moves."""

    def now_ms(self) -> int: ...
    def monotonic_ms(self) -> int: ...


class BrokerClock:
    """`now()` never goes back once a broker's append time is known. Before, the wall clock is all
    there is; where it is far ahead, nothing may hold on to that."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._readings: deque[AppendTime] = deque(maxlen=_READINGS)
        self._latest = 0
        self.is_off = False

    def see(self, reading: AppendTime | None) -> None:
        """Take note of an append time."""
        if reading is not None and (not self._readings or self._readings[-1] != reading):
            self._readings.append(reading)

    def now(self) -> int:
        """Epoch milliseconds."""
        reading = self._reading()
        if not self._readings:
            return reading
        self._latest = max(self._latest, reading)
        return self._latest

    def is_due_for_reading(self, every_ms: int) -> bool:
        """Whether the newest reading is that old, or there is none."""
        if not self._readings:
            return True
        return self._clock.monotonic_ms() - self._readings[-1].arrived_ms >= every_ms

    def _reading(self) -> int:
        wall = self._clock.now_ms()
        brokers = self._brokers()
        off = brokers is not None and abs(wall - brokers) > TOLERANCE_MS
        if off != self.is_off:
            self._announce(off, wall - (brokers or wall))
        self.is_off = off
        return brokers if off and brokers is not None else wall

    def _brokers(self) -> int | None:
        monotonic = self._clock.monotonic_ms()
        while len(self._readings) > 1:
            if monotonic - self._readings[0].arrived_ms <= _READING_LASTS_MS:
                break
            self._readings.popleft()
        ahead = max((r.append_ms - r.arrived_ms for r in self._readings), default=None)
        return None if ahead is None else ahead + monotonic

    def _announce(self, off: bool, by_ms: int) -> None:
        if off:
            LOG.error(
                "this machine's clock is %d ms off the brokers', which counts until it is set",
                by_ms,
                extra={"action": "clock_off", "by_ms": by_ms},
            )
        else:
            LOG.info("this machine's clock is right again", extra={"action": "clock_right"})
