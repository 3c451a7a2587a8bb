"""One job, or some, whose scheduler is driven by hand; what a user would see of it."""

import msgspec

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.world import EPOCH, World
from tocsin.model.runs import Run
from tocsin.model.signals import Signal
from tocsin.wire.codec import SIGNAL, codec_of

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

SIGNAL_ID = "01234567-89ab-4def-8123-456789abcdef"

ONCE = {"at": "2026-09-21T14:14:00Z"}
"""40 s after `EPOCH`, which is 2026-09-21T14:13:20Z, a Monday."""


def document(**given: object) -> bytes:
    """A job each minute whose runs may overlap, unless told otherwise."""
    base: dict[str, object] = {
        "schedule": {"cron": "* * * * *"},
        "handler": {"type": "noop"},
        "overlap": "allow_all",
    }
    return msgspec.json.encode({**base, **given})


def world_with(**given: object) -> World:
    """A world with one job, `default/a`, that its scheduler has taken in."""
    world = World()
    world.put("default/a", document(**given))
    world.turn()
    return world


def edit(world: World, **given: object) -> None:
    """The job is written anew, and its scheduler takes that in."""
    world.put("default/a", document(**given))
    world.turn()


def delete(world: World) -> None:
    world.put("default/a", None)
    world.turn()


def retrying(**given: object) -> World:
    """The first run is there; a failure is tried again after 10 s, then after 30 s."""
    world = world_with(retry={"max_attempts": 3, "initial": 10, "jitter": "none"}, **given)
    world.run_until(EPOCH + 40_000)
    return world


def running_twice(overlap: str) -> World:
    """A job each minute whose first run is still going when the next two come."""
    world = world_with(overlap=overlap)
    world.run_until(EPOCH + 40_000)
    say(world, "started")
    for third_minute in range(1, 7):
        world.run_until(EPOCH + 40_000 + third_minute * 20_000)
        say(world, "heartbeat", 0)
    world.run_until(EPOCH + 170_000)
    return world


def say(world: World, kind: str, number: int = -1, worker: str = "w", **error: object) -> None:
    """What a worker says now of a run, by its place among all runs so far."""
    world.say(outcome_of(world.log.runs[number], kind, world.now, worker, **error))


def signal(world: World, kind: str, **given: object) -> None:
    value = {"signal": kind, "signal_id": SIGNAL_ID, **given}
    world.signal("default/a", SIGNAL.encode(msgspec.convert(value, Signal)))


def settle(world: World, ms: int = SECOND) -> None:
    """Let some time pass."""
    world.run_until(world.now + ms)


# what a user sees


def offsets(world: World) -> list[int]:
    """Scheduled times of the runs, seconds after `EPOCH`."""
    return [(run.scheduled_time - EPOCH) // SECOND for run in world.log.runs]


def attempts(world: World) -> list[int]:
    return [run.attempt for run in world.log.runs]


def reasons(world: World, kind: str) -> list[str]:
    """Of the events of a type."""
    return [event.reason for event in world.log.events if event.type == kind]


def count(world: World, kind: str) -> int:
    """Of the occurrences that the events of a type are about."""
    return sum(event.count or 1 for event in world.log.events if event.type == kind)


def others(world: World, topic: str) -> list[object]:
    """What was written to a topic that is neither runs nor events nor jobs."""
    return [
        codec_of(record.value).decode(record.value)
        for record in world.log.others
        if record.topic == topic and record.value
    ]


def dead_runs(world: World) -> list[object]:
    return others(world, "tocsin.dead")


def cancelled(world: World) -> list[tuple[int, str | None]]:
    """Highest attempt meant, and worker, of each cancellation."""
    found = others(world, "tocsin.cancels")
    return [(getattr(c, "attempt", 0), getattr(c, "worker", None)) for c in found]


def state_of(world: World) -> dict[str, bytes]:
    """What the state topic holds in the end, without deleted keys."""
    return {key.decode(): value for key, value in dict(world.log.state).items() if value}


def first_of(runs: list[Run], job_id: str) -> Run:
    return next(run for run in runs if run.job_id == job_id)
