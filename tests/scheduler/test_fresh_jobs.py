"""What a cold restore takes in without a look at the store is what it takes in with one."""

import json
import random

import msgspec
import pytest

from tests.scheduler.documents import any_document
from tests.scheduler.situations.scene import document, offsets
from tests.scheduler.world import EPOCH, World
from tocsin.model.jobs import Job
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB
from tocsin.wire.headers import condition_header
from tocsin_scheduler.core.fresh_jobs import FreshJobs, MetKeys
from tocsin_scheduler.core.place import DEFINITION, DUE, TALLY


def lived_in(seed: int) -> World:
    """Some jobs, written once or several times, deleted, and run for a while."""
    chance = random.Random(seed)
    world = World()
    for _ in range(chance.randint(1, 6)):
        for _ in range(chance.randint(1, 6)):
            key = f"default/j{chance.randint(0, 7)}"
            gone = chance.random() < 0.15
            document = any_document(chance.choice, world.now)
            world.put(key, None if gone else json.dumps(document).encode())
        world.run_until(world.now + chance.choice([0, 500, 20_000, 100_000]))
    world.turn()
    return world


def restored(world: World) -> dict[bytes, bytes]:
    """Definitions, due index and tally of a store that the log alone has made."""
    world.lose_store()
    world.restart()
    pairs = world.store.scan(b"", b"\xff")
    return {key: value for key, value in pairs if key[:1] in (DEFINITION, DUE, TALLY)}


@pytest.mark.parametrize("seed", range(60))
def test_a_restore_that_looks_nothing_up_ends_as_one_that_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = lived_in(seed)
    quick = restored(world)
    monkeypatch.setattr(FreshJobs, "load", lambda self, record: False)
    assert quick == restored(world)


def test_a_job_that_was_met_once_is_read_without_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    for number in range(20):
        world.put(f"default/j{number}", document(status="active"))
    world.turn()
    monkeypatch.setattr("tocsin_scheduler.core.book.Book.revision", _refuse)
    compact(world)
    world.lose_store()
    world.run_until(EPOCH + 40_000)
    assert len(world.log.runs) == 20


def test_the_condition_of_the_only_record_that_is_left_is_not_judged_again() -> None:
    world = World()
    world.put("default/a", document(status="active"))
    world.turn()
    whole = world.log.jobs[-1].value
    first = world.log.jobs[0].offset
    edited = whole and whole.replace(b"* * * * *", b"2 * * * *")
    world.put("default/a", edited, [condition_header(first)])
    world.turn()
    compact(world)
    world.lose_store()
    world.restart()
    held = JOB.decode(world.log.jobs[-1].value or b"")
    assert held.schedule.cron == "2 * * * *"
    assert any(key[:1] == DUE for key in restored(world))


def compact(world: World) -> None:
    """Only the last record of each key is left in the jobs topic; offsets stay."""
    last = {record.key: record for record in world.log.jobs}
    world.log.jobs[:] = sorted(last.values(), key=lambda record: record.offset)


def _refuse(*_: object) -> None:
    raise AssertionError("the store was asked for a revision")


@pytest.mark.parametrize(
    "schedule",
    [
        ScheduleFields(),
        ScheduleFields(cron="no cron"),
        ScheduleFields(cron="* * * * *", timezone="Nowhere/Town"),
        ScheduleFields(at="some day"),
        ScheduleFields(every_ms=0, start=EPOCH),
        ScheduleFields(every_ms=-1, start=EPOCH),
        ScheduleFields(rrule="FREQ=DAILY"),
    ],
    ids=repr,
)
def test_a_schedule_in_avro_that_is_none_is_void_in_a_cold_restore_too(
    schedule: ScheduleFields,
) -> None:
    world = World()
    world.put("default/b", document())
    world.put("default/a", document(status="active"))
    world.turn()
    whole = JOB.decode(world.log.jobs[-1].value or b"")
    world.put("default/a", JOB.encode(msgspec.structs.replace(whole, schedule=schedule)))
    world.put("default/c", JOB.encode(msgspec.structs.replace(whole, schedule=schedule)))
    world.turn()
    world.lose_store()
    world.run_until(EPOCH + 40_000)
    assert offsets(world) == [40, 40]


def broken(whole: Job) -> list[bytes]:
    """Definitions in Avro that are none, behind the fields that a restore reads."""
    data = JOB.encode(whole)
    return [data[:-10], data.replace(b"\x12allow_all", b"\x12allow_xyz"), data + b"\0"]


@pytest.mark.parametrize("kind", range(3), ids=["cut off", "an unknown word", "too long"])
@pytest.mark.parametrize("is_edited", [False, True])
def test_a_definition_that_breaks_off_is_void_in_a_cold_restore_too(
    kind: int, is_edited: bool
) -> None:
    world = World()
    world.put("default/a", document(status="active"))
    world.turn()
    whole = JOB.decode(world.log.jobs[-1].value or b"")
    world.put("default/a", broken(whole)[kind])
    world.put("default/c", broken(msgspec.structs.replace(whole, job_id="c"))[kind])
    if is_edited:
        world.put("default/c", document(schedule={"cron": "*/2 * * * *"}))
    world.turn()
    world.lose_store()
    world.run_until(EPOCH + 70_000)
    expected = ["a", "c"] if is_edited else ["a"]
    assert sorted(run.job_id for run in world.log.runs) == expected


def test_a_definition_under_the_key_of_another_job_takes_nothing_from_its_own() -> None:
    world = World()
    world.put("default/a", document(status="active"))
    world.turn()
    world.put("default/b", world.log.jobs[-1].value)
    world.turn()
    world.lose_store()
    world.run_until(EPOCH + 100_000)
    assert offsets(world) == [40, 100]


def test_keys_that_were_met_are_never_taken_for_new_ones() -> None:
    met = MetKeys()
    keys = [f"default/job-{number}".encode() for number in range(100_000)]
    new = sum(met.meet(key) for key in keys)
    assert new > 98_000
    assert not any(met.meet(key) for key in keys)
