"""A signal with a name-based id is one command, however often it is sent."""

from collections.abc import Callable
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec
import pytest

from tests.scheduler.world import EPOCH, World
from tocsin.model.signals import Signal
from tocsin.model.state import JobState
from tocsin.wire.codec import JOB_STATE, SIGNAL
from tocsin_scheduler.core.signals import MOST_REMEMBERED

DAY_MS = 86_400_000
ONCE = str(uuid5(NAMESPACE_URL, "order 4711"))
JOB = msgspec.json.encode(
    {"schedule": {"cron": "0 0 1 1 *"}, "handler": {"type": "noop"}, "overlap": "allow_all"}
)


@pytest.fixture
def world() -> World:
    made = World()
    made.put("default/a", JOB)
    made.turn()
    return made


def trigger(world: World, signal_id: str) -> None:
    signal = Signal(signal="trigger", signal_id=signal_id)
    world.signal("default/a", SIGNAL.encode(signal))
    world.turn()


def applied(world: World) -> list[str]:
    """What the state topic says of the job's signals."""
    values = [value for key, value in world.log.state if key == b"default/a"]
    state = JobState() if values[-1] is None else JOB_STATE.decode(values[-1])
    return [entry.signal_id for entry in state.applied]


def test_the_same_id_counts_once(world: World) -> None:
    for _ in range(3):
        trigger(world, ONCE)
        world.now += 1_000

    assert len(world.log.runs) == 1


@pytest.mark.parametrize("lose", [World.lose_store, lambda world: world.turn(crash="after_commit")])
def test_a_successor_remembers_it(world: World, lose: Callable[[World], object]) -> None:
    trigger(world, ONCE)
    lose(world)
    world.now += 1_000
    trigger(world, ONCE)

    assert len(world.log.runs) == 1


def test_after_a_day_it_is_another_command(world: World) -> None:
    trigger(world, ONCE)
    world.run_until(EPOCH + DAY_MS)
    assert applied(world) == []
    trigger(world, ONCE)

    assert len(world.log.runs) == 2


def test_ids_at_random_are_not_remembered(world: World) -> None:
    for _ in range(3):
        trigger(world, str(uuid4()))

    assert len(world.log.runs) == 3
    assert not world.log.state


def test_what_is_remembered_is_bounded(world: World) -> None:
    ids = [str(uuid5(NAMESPACE_URL, str(number))) for number in range(MOST_REMEMBERED + 5)]
    for signal_id in ids:
        signal = Signal(signal="trigger", signal_id=signal_id)
        world.signal("default/a", SIGNAL.encode(signal))
    world.turn()

    assert applied(world) == ids[5:]
