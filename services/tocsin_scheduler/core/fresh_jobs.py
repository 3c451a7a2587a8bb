"""What a cold restore mostly meets: the one record of a job without a state.

Nothing has to be looked up for it.
"""

import zlib

from tocsin.model.keys import is_job_key
from tocsin.timetable import jitter_offset_ms
from tocsin_scheduler.core.book import Book
from tocsin_scheduler.core.config import CoreConfig
from tocsin_scheduler.core.due import Course, Due
from tocsin_scheduler.core.partition import InRecord
from tocsin_scheduler.core.place import NOWHERE, instant_of
from tocsin_scheduler.core.plain_records import Timing, read_plain, read_timing

_BITS = 23


class MetKeys:
    """Which keys have been met. Takes one mebibyte, and in exchange calls one key in twenty known
    that is not, with 400,000 keys."""

    def __init__(self) -> None:
        self._bits = bytearray(1 << _BITS - 3)

    def meet(self, key: bytes) -> bool:
        """Whether it is new for sure. The next time it is not."""
        at = zlib.crc32(key) & (1 << _BITS) - 1
        bit = 1 << (at & 7)
        is_new = not self._bits[at >> 3] & bit
        self._bits[at >> 3] |= bit
        return is_new


class FreshJobs:
    """Enters jobs into an empty store behind the watermark at `place`. `meet` every key that the
    store gets to hold something of otherwise."""

    def __init__(self, book: Book, config: CoreConfig) -> None:
        self._book = book
        self._longest_jitter_ms = config.longest_jitter_ms
        self._met = MetKeys()
        self.meet = self._met.meet
        self._place, self._now, self._first_base = NOWHERE, 0, 0

    def begin(self, place: bytes, now: int) -> None:
        """Definitions come from here on."""
        self._place, self._now = place, now
        self._first_base = instant_of(place) - self._longest_jitter_ms

    def load(self, record: InRecord) -> bool:
        """False, and nothing done, where something is known of the job or the record is another
        than a whole definition in Avro. Its key counts as met from now on."""
        key, value = record.key, record.value
        if key is None or not self.meet(key) or value is None or not is_job_key(key):
            return False
        plain = read_plain(record)
        if plain is None or plain.timing is None:
            return False
        self._book.load_fresh(key, plain.revision, plain.timestamp, value)
        if plain.timing.is_active:
            self._enter(key, plain.timestamp, plain.timing)
        return True

    def leave(self, key: bytes) -> None:
        """Take out of the due index what `load` has entered: of a definition that cannot be read
        any further than its timing."""
        loaded = self._book.loaded(key)
        if loaded is None:
            return
        timestamp, value = loaded
        timing = read_timing(key, value)
        due = self._first(key, timestamp, timing) if timing.is_active else None
        if due is not None:
            self._book.delete_due(due.place)

    def _first(self, key: bytes, timestamp: int, timing: Timing) -> Due | None:
        schedule, jitter_ms, priority, _ = timing
        offset_ms = jitter_offset_ms(key.decode(), jitter_ms) if jitter_ms else 0
        course = Course(schedule, offset_ms, priority, key)
        return course.first(max(timestamp, self._first_base), self._place)

    def _enter(self, key: bytes, timestamp: int, timing: Timing) -> None:
        """Its first occurrence behind the watermark; without one the job may have ended."""
        due = self._first(key, timestamp, timing)
        if due is None:
            self._book.timers.put(self._now, key)
        else:
            self._book.put_due(due.place, due.nominal)
