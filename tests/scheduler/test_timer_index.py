"""The index of timers against a set of them, and what it spares the store."""

from collections.abc import Iterator, Mapping

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tocsin_scheduler.core.overlay import Overlay
from tocsin_scheduler.core.timer_index import TimerIndex
from tocsin_scheduler.store.memory import MemoryStore

HOUR_MS = 3_600_000

instants = st.integers(-2, 20) | st.integers(-2, 20).map(lambda number: number * 400)
"""Near to each other, and far apart."""
refs = st.sampled_from([b"a", b"b#run"])


class Timers(RuleBasedStateMachine):
    """`timers`: as they should be; `committed`: what a failed transaction goes back to."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.overlay = Overlay(self.store)
        self.index = TimerIndex(self.overlay)
        self.timers: set[tuple[int, bytes]] = set()
        self.committed: set[tuple[int, bytes]] = set()

    @rule(instant=instants, ref=refs)
    def put(self, instant: int, ref: bytes) -> None:
        self.index.put(instant, ref)
        self.timers.add((max(instant, 0), ref))

    @rule(instant=instants, ref=refs)
    def delete(self, instant: int, ref: bytes) -> None:
        self.index.delete(instant, ref)
        self.timers.discard((max(instant, 0), ref))

    @rule(instant=instants, patience=st.integers(0, 3))
    def fire(self, instant: int, patience: int) -> None:
        """As a turn does whose budget ends after so many; what it has no time for stays."""
        due = sorted(timer for timer in self.timers if timer[0] <= instant)
        found: list[tuple[int, bytes]] = []
        for timer in self.index.until(instant):
            if len(found) == patience:
                self.index.put(*timer)
                break
            found.append(timer)
            self.index.delete(*timer)
            self.timers.discard(timer)
        assert found == due[:patience]

    @rule()
    def commit(self) -> None:
        self.store.write(self.overlay.changes)
        self.overlay.clear()
        self.committed = set(self.timers)

    @rule()
    def drop(self) -> None:
        self.overlay.clear()
        self.index.reset()
        self.timers = set(self.committed)

    @rule()
    def look(self) -> None:
        assert self.index.next() == min((at for at, _ in self.timers), default=None)


TestTimers = Timers.TestCase


class WalkingStore(MemoryStore):
    """`walked`: how many entries its scans have come by, deleted ones included, which a real store
    keeps until it is compacted."""

    def __init__(self) -> None:
        super().__init__()
        self.walked = 0
        self._ever: set[bytes] = set()

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        self._ever |= changes.keys()
        super().write(changes)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        for key in sorted(key for key in self._ever if start <= key < end):
            self.walked += 1
            value = self.get(key)
            if value is not None:
                yield key, value


def test_what_has_been_deleted_is_walked_over_once() -> None:
    """Runs that end long before their queue time-out, and beside them jobs that are looked at."""
    store = WalkingStore()
    overlay = Overlay(store)
    index = TimerIndex(overlay)
    assert index.next() is None
    for now in range(300):
        index.put(now + HOUR_MS, b"run")
        index.put(now + 24 * HOUR_MS, b"job")
        assert list(index.until(now)) == []
        assert index.next() == now + HOUR_MS
        store.write(overlay.changes)
        overlay.clear()
        index.delete(now + HOUR_MS, b"run")
        index.put(now, b"job")
        assert [ref for _, ref in index.until(now)] == [b"job"]
        index.delete(now, b"job")
    assert store.walked <= 3 * 300
