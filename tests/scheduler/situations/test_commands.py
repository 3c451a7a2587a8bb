"""What stands in the jobs topic: valid, void, conditional, restated, of other partitions."""

import pytest

from tests.scheduler.situations.scene import (
    HOUR,
    MINUTE,
    count,
    delete,
    document,
    edit,
    offsets,
    reasons,
    settle,
    world_with,
)
from tests.scheduler.world import EPOCH, TOPICS, Rec, World
from tocsin.model.fold import Restates
from tocsin.wire.codec import JOB
from tocsin.wire.headers import condition_header, read_restates
from tocsin.wire.partitions import partition_of
from tocsin_scheduler.core.config import CoreConfig

INVALID = b'{"schedule": {"cron": "61 * * * *"}, "handler": {"type": "noop"}}'


def restated(record: Rec) -> Restates:
    found = read_restates(record.headers)
    assert found is not None
    return found


def test_an_invalid_command_is_answered_by_an_event_and_a_restatement() -> None:
    world = world_with()
    world.put("default/a", INVALID)
    world.turn()
    assert "minute" in reasons(world, "rejected")[0]
    assert restated(world.log.jobs[-1]).revision == 0
    world.run_until(EPOCH + 40_000)
    assert offsets(world) == [40]


def test_an_invalid_first_command_is_restated_as_a_tombstone() -> None:
    world = World()
    world.put("default/a", b"garbage")
    world.turn()
    assert world.log.jobs[-1].value is None
    assert len(reasons(world, "rejected")) == 1


def test_a_restatement_answers_the_record_it_judges() -> None:
    world = world_with()
    world.put("default/a", INVALID)
    world.turn()
    void = world.log.jobs[-2]
    assert restated(world.log.jobs[-1]).through == void.offset


def test_a_restatement_that_a_newer_command_has_overtaken_changes_nothing() -> None:
    """The newer command was in the log already when the void one was judged."""
    world = world_with()
    world.put("default/a", INVALID)
    world.put("default/a", document(schedule={"cron": "*/5 * * * *"}))
    world.turn(most=1)
    settle(world)
    world.lose_store()
    world.run_until(EPOCH + 10 * MINUTE)
    assert offsets(world) == [100, 400]


def test_a_restatement_makes_no_occurrence() -> None:
    world = world_with()
    for second in (39, 41, 99, 101):
        world.run_until(EPOCH + second * 1_000)
        world.put("default/a", INVALID)
    world.run_until(EPOCH + 130_000)
    assert offsets(world) == [40, 100]
    assert count(world, "accepted") == 1


def test_a_json_command_is_restated_in_avro_with_its_anchor() -> None:
    world = world_with(schedule={"every": 60})
    whole = JOB.decode(world.log.jobs[-1].value or b"")
    assert whole.schedule.start == EPOCH
    assert whole.status == "active"


def test_status_left_out_keeps_what_an_operator_has_paused() -> None:
    world = world_with(status="paused")
    edit(world, description="deployed anew")
    settle(world, HOUR)
    assert world.log.runs == []


@pytest.mark.parametrize("condition", [0, "none", None])
def test_a_condition_is_judged_at_its_place_in_the_log(condition: object) -> None:
    world = world_with()
    headers = [] if condition is None else [condition_header(condition)]  # type: ignore[arg-type]
    world.put("default/a", document(schedule={"cron": "0 0 1 1 *"}), headers)
    world.run_until(EPOCH + MINUTE)
    assert offsets(world) == ([40] if condition == "none" else [])


def test_of_two_conditional_writers_one_wins() -> None:
    world = world_with()
    revision = restated(world.log.jobs[-1]).revision
    for text in ("first", "second"):
        world.put("default/a", document(description=text), [condition_header(revision)])
    world.turn()
    assert len(reasons(world, "rejected")) == 1
    last = JOB.decode(world.log.jobs[-1].value or b"")
    assert last.description == "first"


def test_of_two_writers_of_a_new_job_one_wins() -> None:
    world = World()
    for minute in (15, 16):
        command = document(schedule={"cron": f"{minute} 14 * * *"})
        world.put("default/a", command, [condition_header("none")])
    world.run_until(EPOCH + HOUR)
    assert offsets(world) == [100]


def test_a_command_for_a_revision_before_the_delete_loses() -> None:
    world = world_with()
    delete(world)
    world.put("default/a", document(), [condition_header(0)])
    world.run_until(EPOCH + 5 * MINUTE)
    assert world.log.runs == []
    assert len(reasons(world, "rejected")) == 1


def test_b086_a_tombstone_for_a_revision_that_was_replaced_deletes_nothing() -> None:
    world = world_with()
    delete(world)
    edit(world)
    world.put("default/a", None, [condition_header(0)])
    world.run_until(EPOCH + 40_000)
    assert offsets(world) == [40]


def test_b096_a_key_in_a_foreign_partition_is_no_job() -> None:
    """A producer with another partitioner: said, and never fired twice."""
    runs = []
    for partition in range(2):
        world = World(CoreConfig(topics=TOPICS, partition=partition, partitions=2))
        world.put("default/a", document())
        world.run_until(EPOCH + 40_000)
        runs.append(len(world.log.runs))
        assert len(world.log.runs) + len(reasons(world, "rejected")) == 1
    assert runs.index(1) == partition_of(b"default/a", 2)


def test_b096_a_tombstone_in_a_foreign_partition_deletes_nothing() -> None:
    own = partition_of(b"default/a", 2)
    home, foreign = (
        World(CoreConfig(topics=TOPICS, partition=number, partitions=2))
        for number in (own, 1 - own)
    )
    home.put("default/a", document())
    foreign.put("default/a", None)
    for world in (home, foreign):
        world.run_until(EPOCH + 40_000)
        world.lose_store()
        world.run_until(EPOCH + 100_000)
    assert (offsets(home), offsets(foreign)) == ([40, 100], [])


@pytest.mark.parametrize("key", ["no-slash", "Upper/a", "default/", "default/a/b", "\udcff"])
def test_a_key_that_names_no_job_is_passed_over(key: str) -> None:
    world = world_with()
    name = key.encode("utf-8", "surrogateescape")
    world.log.append("jobs", world.now, name, document())  # type: ignore[arg-type]
    world.run_until(EPOCH + 40_000)
    assert offsets(world) == [40]


def test_a_pool_without_topics_is_said_and_skipped() -> None:
    world = world_with(pool="gpu")
    world.run_until(EPOCH + 40_000)
    assert world.log.runs == []
    assert "tocsin topics apply --pool gpu" in reasons(world, "skipped")[0]
