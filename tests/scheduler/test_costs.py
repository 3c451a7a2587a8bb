"""What a step costs does not grow with the number of jobs: counted in accesses to the store."""

from collections.abc import Iterator

import pytest

from tests.scheduler.situations.scene import DAY, document, settle
from tests.scheduler.world import EPOCH, World
from tocsin_scheduler.store.memory import MemoryStore

FEW, MANY = 20, 2_000


class CountingStore(MemoryStore):
    """Counts the keys that are read, one by one or in scans."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def get(self, key: bytes) -> bytes | None:
        self.reads += 1
        return super().get(key)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        for pair in super().scan(start, end):
            self.reads += 1
            yield pair


def world_of(jobs: int) -> tuple[World, CountingStore]:
    """Jobs that are due once a day, at different seconds."""
    world = World()
    world.store = store = CountingStore()
    world.restart()
    for number in range(jobs):
        minute, hour = number % 60, 16 + number // 60 % 7
        schedule = {"cron": f"{minute} {hour} * * *"}
        world.put(f"default/j{number}", document(schedule=schedule))
    settle(world)
    store.reads = 0
    return world, store


def reads(jobs: int, what: str) -> int:
    world, store = world_of(jobs)
    if what == "edit":
        world.put("default/j7", document(schedule={"cron": "1 2 * * *"}))
        world.turn()
    elif what == "idle":
        world.now += 10_000
        world.turn()
    elif what == "restart":
        world.restart()
    else:
        world.put("default/j7", document(schedule={"cron": "1 2 * * *"}))
        world.now += 1_000
        world.turn(crash="after_commit")
    return store.reads


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("edit", id="b163 an edit"),
        pytest.param("idle", id="b162 a turn in which nothing is due"),
        pytest.param("restart", id="b165 a restart with a checkpoint"),
        pytest.param("crash", id="b165 a restart from an older checkpoint"),
    ],
)
def test_b163_b165_a_step_costs_the_same_whatever_is_stored(what: str) -> None:
    few, many = reads(FEW, what), reads(MANY, what)
    assert few <= many <= few + 5
    assert 0 < many < 100


def test_b165_jobs_that_fired_long_ago_leave_nothing_to_walk_over() -> None:
    """Not even deleted entries in front of the due index."""
    world, store = world_of(FEW)
    world.run_until(EPOCH + 30 * DAY)
    store.reads = 0
    world.restart()
    world.turn()
    assert store.reads < 100
