"""Runs that were read back from the log: what an earlier owner emitted behind the watermark.

Where the group's offsets are lost or foreign, a partition goes on from its last `%watermark`, which
is older than what was committed last. State is read to its end, so it knows all that came of these
runs; the occurrences and commands themselves are met a second time, and then nothing is to be done.
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import NamedTuple

from tocsin.model.keys import parse_job_key, run_id
from tocsin_scheduler.core.due import Due
from tocsin_scheduler.core.overlay import Overlay
from tocsin_scheduler.core.place import EMITTED, RUN_STATE, run_key

LASTS_MS = 600_000
"""How long after the newest of them they may be met again: while what was read is applied."""

_ATTEMPT = struct.Struct(">I")
_INSTANT = struct.Struct(">Q")


class Stretch(NamedTuple):
    """Consecutive occurrences: how many, and the nominal times of the first and the last."""

    number: int
    first: int
    last: int


class Emitted:
    """Empty as a rule, and then asking costs nothing."""

    def __init__(self, overlay: Overlay) -> None:
        self._overlay = overlay
        data = overlay.get(EMITTED)
        self._until = 0 if data is None else int(_INSTANT.unpack(data)[0])

    def load(self, name: str, attempt: int, now: int) -> None:
        """A run that was read back at `now`."""
        self._until = now + LASTS_MS
        self._overlay.put(EMITTED, _INSTANT.pack(self._until))
        self._overlay.put(_key(name, attempt), b"")

    def has(self, name: str, attempt: int = 1) -> bool:
        return bool(self._until) and self._overlay.get(_key(name, attempt)) is not None

    def knows(self, key: bytes, name: str) -> bool:
        """Whether an earlier owner has dealt with the occurrence: emitted it, or put it into
        `state`, where it waits."""
        if not self._until:
            return False
        return self.has(name) or self._overlay.get(RUN_STATE + run_key(key, name)) is not None

    def between(self, key: bytes, dues: Iterable[Due]) -> Iterator[Stretch]:
        """The occurrences that are not known, which have to be accounted: those with no known
        one between them together."""
        if self.is_empty:
            yield from _stretches(due.nominal for due in dues)
            return
        tenant, job_id = parse_job_key(key.decode())
        times = (due.nominal for due in dues)
        for known, stretch in groupby(
            times, lambda at: self.knows(key, run_id(tenant, job_id, at))
        ):
            if not known:
                yield from _stretches(stretch)

    @property
    def is_empty(self) -> bool:
        return not self._until

    def forget(self, now: int, limit: int) -> None:
        """Drop at most `limit` of them when they do not matter any more."""
        if not self._until or now <= self._until:
            return
        old = [name for name, _ in islice(self._overlay.scan(EMITTED, EMITTED + b"\xff"), limit)]
        for name in old:
            self._overlay.delete(name)
        if not old:
            self._until = 0


def _stretches(times: Iterable[int]) -> Iterator[Stretch]:
    """All of them, unless there are none."""
    count, first, last = 0, 0, 0
    for last in times:
        first = first if count else last
        count += 1
    if count:
        yield Stretch(count, first, last)


def _key(name: str, attempt: int) -> bytes:
    return EMITTED + name.encode() + _ATTEMPT.pack(attempt)
