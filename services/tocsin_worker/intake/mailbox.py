"""What the event loop tells a reading thread."""

from collections.abc import Collection, Mapping
from threading import Event, Lock

Offsets = Mapping[int, int]
"""Partition -> the next offset to read."""


class Mailbox:
    """Written on the event loop, read on a reader's thread. Nothing in it blocks but `wait`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wake = Event()
        self._room = 0
        self._under_way = 0
        self._offsets: dict[int, int] = {}
        self._stopped = False

    # The loop's side.

    def allow(self, records: int) -> None:
        """How many records may be handed over from now on, those under way included."""
        with self._lock:
            was_open = self._room > 0
            self._room = records - self._under_way
            opened = self._room > 0 and not was_open
        if opened:
            self._wake.set()

    def arrived(self, records: int) -> None:
        """So many of the records under way have been received."""
        with self._lock:
            self._under_way -= records

    def commit(self, offsets: Offsets) -> None:
        """Commit these soon; newer offsets replace older ones of the same partition."""
        with self._lock:
            self._offsets.update(offsets)
        self._wake.set()

    def stop(self) -> None:
        """Leave the group, after everything has been released."""
        self._stopped = True
        self._wake.set()

    # The thread's side.

    @property
    def stopped(self) -> bool:
        return self._stopped

    @property
    def room(self) -> int:
        return self._room

    def sent(self, records: int) -> None:
        """So many records are under way to the loop."""
        with self._lock:
            self._room -= records
            self._under_way += records

    def take_offsets(self) -> dict[int, int]:
        """What is to be committed since the last call."""
        with self._lock:
            offsets, self._offsets = self._offsets, {}
        return offsets

    def put_back(self, offsets: Offsets) -> None:
        """These could not be committed; what was asked for meanwhile counts more."""
        with self._lock:
            self._offsets = {**offsets, **self._offsets}

    def drop_offsets(self, partitions: Collection[int]) -> None:
        """These partitions are not the reader's any more."""
        with self._lock:
            for partition in partitions:
                self._offsets.pop(partition, None)

    def wait(self, seconds: float) -> None:
        """Until there is something new, or time is up."""
        self._wake.wait(seconds)
        self._wake.clear()
