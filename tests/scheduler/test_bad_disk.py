"""The disk under a scheduler fails, in any call: what it held is made from the log again."""

from collections.abc import Iterator, Mapping, Sequence
from random import Random

import pytest

from tests.scheduler.nodes import PARTITIONS, Town
from tests.scheduler.outcomes import outcome_of
from tocsin_scheduler.core.store import StoreDamaged
from tocsin_scheduler.store.local import LocalStore
from tocsin_scheduler.store.memory import MemoryStore, MemoryStores

JOBS = 6
SECONDS = 40


class Disk:
    """Fails one call in `odds`; 0 = none, 1 = each, as one that is full does."""

    def __init__(self, seed: int) -> None:
        self.odds = 0
        self.failures = 0
        self._random = Random(seed)

    def touch(self) -> None:
        if self.odds and not self._random.randrange(self.odds):
            self.failures += 1
            raise StoreDamaged("the disk is bad")


class BadStore(MemoryStore):
    """On such a disk; to let go of it, and to leave nothing behind, always works."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self._disk = disk

    def get(self, key: bytes) -> bytes | None:
        self._disk.touch()
        return super().get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._disk.touch()
        return super().get_many(keys)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        self._disk.touch()
        return super().scan(start, end)

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        self._disk.touch()
        super().write(changes)

    def wipe(self) -> None:
        super().wipe()
        self._disk.touch()


class BadStores(MemoryStores):
    """A node's stores on one disk."""

    def __init__(self, disk: Disk) -> None:
        super().__init__()
        self._disk = disk

    def open(self, name: str) -> LocalStore:  # type: ignore[override]
        self._disk.touch()
        return self.stores.setdefault(name, BadStore(self._disk))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("odds", [1, 5, 40])
def test_nothing_is_lost_and_nothing_doubled(odds: int, seed: int) -> None:
    town, disk = Town(), Disk(seed)
    for number in range(JOBS):
        town.put(f"job-{number}", overlap="skip" if number % 2 else "allow_all")
    node = town.node("a", BadStores(disk))
    for second in range(SECONDS):
        disk.odds = odds if second % 8 > 4 else 0
        town.clock.advance(1_000)
        town.settle(3)
        for run in town.runs():
            if run.emitted_time == town.clock.now_ms():
                town.say(outcome_of(run, "succeeded", town.clock.now_ms()))
    disk.odds = 0
    town.pass_time(10_000)
    assert disk.failures
    assert node.owned == set(range(PARTITIONS))
    assert town.doubled() == []
    for number in range(JOBS):
        accounted = sorted([*town.times(f"job-{number}"), *town.skipped(f"job-{number}")])
        assert accounted[:SECONDS] == list(range(1, SECONDS + 1))
