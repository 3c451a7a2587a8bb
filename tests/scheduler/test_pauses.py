"""A pause keeps what would come, and touches nothing that runs."""

import msgspec

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.world import EPOCH, TOPICS, World
from tocsin.model.signals import Signal
from tocsin.timetable.instants import parse_instant
from tocsin.wire.codec import SIGNAL

DAY_MS = 86_400_000
SECOND_MS = 1_000


def put(world: World, cron: str, status: str) -> None:
    job = {"schedule": {"cron": cron}, "handler": {"type": "noop"}, "status": status}
    world.put("default/a", msgspec.json.encode(job))
    world.turn()


def test_b062_a_weekly_job_resumed_on_a_friday_runs_next_on_sunday() -> None:
    """Paused on Monday, resumed on Friday two weeks later."""
    world = World()
    put(world, "0 0 * * 0", "active")
    put(world, "0 0 * * 0", "paused")
    world.run_until(EPOCH + 18 * DAY_MS)
    put(world, "0 0 * * 0", "active")
    world.run_until(EPOCH + 20 * DAY_MS)

    assert [run.scheduled_time for run in world.log.runs] == [parse_instant("2026-10-11T00:00:00Z")]
    assert not [event for event in world.log.events if event.type == "missed"]


def test_b127_a_run_goes_on_to_its_end_while_its_job_is_paused() -> None:
    world = World()
    put(world, "0 0 1 1 *", "active")
    signal = Signal(signal="trigger", signal_id="01234567-89ab-4def-8123-456789abcdef")
    world.signal("default/a", SIGNAL.encode(signal))
    world.turn()
    (run,) = world.log.runs
    world.say(outcome_of(run, "started", world.now))
    put(world, "0 0 1 1 *", "paused")
    world.run_until(EPOCH + 20 * SECOND_MS)
    open_runs = world.partition.tally.open_runs
    world.say(outcome_of(run, "succeeded", world.now))
    world.turn()

    assert (open_runs, world.partition.tally.open_runs) == (1, 0)
    assert not [record for record in world.log.others if record.topic == TOPICS.cancels]
    assert [event.type for event in world.log.events if event.run_id == run.run_id] == []
