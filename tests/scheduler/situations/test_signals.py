"""Imperative commands: trigger, backfill, cancel."""

import pytest

from tests.scheduler.situations.scene import (
    DAY,
    HOUR,
    MINUTE,
    ONCE,
    SECOND,
    attempts,
    cancelled,
    count,
    document,
    edit,
    offsets,
    reasons,
    retrying,
    running_twice,
    say,
    settle,
    signal,
    world_with,
)
from tests.scheduler.world import EPOCH, World
from tocsin_scheduler.core.turn import Budget

FIVE_SLOTS = {"from": EPOCH - 10 * MINUTE, "to": EPOCH - 5 * MINUTE}
"""Of a job that is due each minute."""


def causes(world: World) -> list[str]:
    return [run.cause for run in world.log.runs]


# trigger


def test_a_trigger_runs_a_paused_job_with_its_own_payload() -> None:
    world = world_with(status="paused")
    signal(world, "trigger", payload=b'{"now":1}')
    settle(world)
    (run,) = world.log.runs
    assert run.run_id == "default.a.20260921T141320.000Z-m01234567"
    assert (run.cause, run.payload) == ("manual", b'{"now":1}')


def test_a_trigger_that_meets_a_run_is_skipped_and_says_so() -> None:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    signal(world, "trigger")
    settle(world, 2 * SECOND)
    assert len(world.log.runs) == 1
    assert world.log.events[-1].type == "skipped"
    assert (world.log.events[-1].run_id or "").endswith("-m01234567")


@pytest.mark.parametrize(
    ("overlap", "at_once", "in_the_end"),
    [
        ("allow_all", 1, 1),
        ("terminate_other", 1, 1),
        ("skip", 0, 0),
        ("buffer_one", 0, 1),
        ("buffer_all", 0, 1),
        ("cancel_other", 0, 1),
    ],
)
def test_a_trigger_may_choose_its_overlap(overlap: str, at_once: int, in_the_end: int) -> None:
    world = world_with(overlap="skip", schedule={"every": 3_600})
    settle(world, HOUR)
    say(world, "started")
    world.turn()
    signal(world, "trigger", overlap=overlap)
    settle(world, 2 * SECOND)
    assert causes(world).count("manual") == at_once
    say(world, "cancelled", 0)
    settle(world, 2 * SECOND)
    assert causes(world).count("manual") == in_the_end


def test_a_trigger_of_a_job_that_is_not_there_is_rejected() -> None:
    world = World()
    signal(world, "trigger")
    settle(world)
    assert reasons(world, "rejected") == ["trigger: there is no such job"]


def test_manual_runs_do_not_count_for_max_runs() -> None:
    world = world_with(max_runs=1)
    signal(world, "trigger")
    world.run_until(EPOCH + 10 * MINUTE)
    assert causes(world) == ["manual", "schedule"]


# what a signal assumes


def test_a_signal_waits_for_the_command_it_assumes() -> None:
    world = World()
    signal(world, "trigger", assumes=0)
    world.turn()
    assert world.log.committed.signals == 0
    world.put("default/a", document())
    world.turn()
    assert world.log.committed.signals == 1
    assert len(world.log.runs) == 1


def test_a_signal_that_waits_is_read_again_by_the_next_owner() -> None:
    world = World()
    signal(world, "trigger", assumes=0)
    world.turn()
    world.lose_store()
    world.put("default/a", document())
    world.turn()
    assert len(world.log.runs) == 1


def test_a_signal_that_assumes_too_much_is_rejected_in_the_end() -> None:
    world = world_with()
    signal(world, "trigger", assumes=99)
    world.run_until(EPOCH + 11_000)
    world.turn()
    assert world.log.committed.signals == 1
    assert "assumes offset 99" in reasons(world, "rejected")[0]


# backfill


def test_a_backfill_runs_each_slot_once() -> None:
    world = world_with()
    signal(world, "backfill", **FIVE_SLOTS)
    settle(world)
    assert causes(world) == ["backfill"] * 5
    assert all(run.run_id.endswith("-b01234567") for run in world.log.runs)
    assert [run.scheduled_time for run in world.log.runs] == [
        EPOCH - 20_000 - minute * MINUTE for minute in (9, 8, 7, 6, 5)
    ]


def test_a_backfill_that_is_asked_for_twice_runs_once() -> None:
    world = world_with(overlap="skip")
    for _ in range(2):
        signal(world, "backfill", **FIVE_SLOTS)
    for _ in range(8):
        settle(world)
        say(world, "succeeded")
    assert causes(world) == ["backfill"] * 5


@pytest.mark.parametrize("crash", ["before_commit", "after_commit"])
def test_a_backfill_goes_on_after_a_crash(crash: str) -> None:
    world = world_with()
    signal(world, "backfill", **FIVE_SLOTS)
    world.turn(Budget(catch_up=2))
    world.turn(Budget(catch_up=2), crash=crash)
    world.lose_store()
    settle(world)
    assert causes(world) == ["backfill"] * 5
    assert len({run.run_id for run in world.log.runs}) == 5


def test_a_backfill_runs_at_a_bounded_rate_and_behind_what_is_on_time() -> None:
    world = world_with()
    signal(world, "backfill", **FIVE_SLOTS)
    world.now += 40 * SECOND
    world.turn(Budget(catch_up=2))
    assert causes(world) == ["schedule", "backfill", "backfill"]


def test_a_backfill_by_default_overlaps_as_its_job_does() -> None:
    world = world_with(overlap="skip")
    signal(world, "backfill", **FIVE_SLOTS)
    settle(world)
    assert causes(world) == ["backfill"]
    say(world, "succeeded")
    settle(world)
    assert causes(world) == ["backfill"] * 2


def test_a_backfill_may_choose_its_overlap() -> None:
    world = world_with(overlap="skip")
    signal(world, "backfill", **FIVE_SLOTS, overlap="allow_all")
    settle(world)
    assert causes(world) == ["backfill"] * 5


def test_a_backfill_can_be_cancelled() -> None:
    world = world_with()
    signal(world, "backfill", **FIVE_SLOTS)
    world.turn(Budget(catch_up=2))
    signal(
        world,
        "cancel",
        signal_id="fedcba98-89ab-4def-8123-456789abcdef",
        backfill_id="01234567-89ab-4def-8123-456789abcdef",
    )
    settle(world)
    assert causes(world) == ["backfill"] * 2
    assert "cancelled" in reasons(world, "backfill_finished")[0]


def test_a_backfill_says_when_it_begins_and_when_it_is_over() -> None:
    world = world_with()
    signal(world, "backfill", **FIVE_SLOTS)
    settle(world)
    assert count(world, "backfill_started") == count(world, "backfill_finished") == 1


def test_a_backfill_tells_how_many_slots_are_done() -> None:
    world = world_with()
    signal(world, "backfill", **{"from": EPOCH - 101 * MINUTE, "to": EPOCH})
    settle(world, 5 * SECOND)
    assert set(reasons(world, "backfill_progress")) == {"01234567-89ab-4def-8123-456789abcdef"}
    assert count(world, "backfill_progress") == 101
    assert count(world, "backfill_finished") == 1


@pytest.mark.parametrize(
    ("schedule", "span", "reason"),
    [
        (ONCE, FIVE_SLOTS, "a one-off has no slots"),
        ({"cron": "* * * * *"}, {"from": EPOCH, "to": EPOCH + 1}, "no slot"),
        ({"cron": "* * * * *"}, {"from": EPOCH - 30 * DAY, "to": EPOCH}, "more than 10000"),
        ({"cron": "* * * * *"}, {}, "from is missing"),
    ],
)
def test_a_backfill_that_cannot_be_is_rejected(
    schedule: dict[str, str], span: dict[str, int], reason: str
) -> None:
    world = world_with(schedule=schedule)
    signal(world, "backfill", **span)
    settle(world)
    assert reason in reasons(world, "rejected")[0]
    assert world.log.runs == []


def test_what_is_left_of_a_backfill_is_dropped_with_its_job() -> None:
    world = world_with(overlap="skip")
    signal(world, "backfill", **FIVE_SLOTS)
    settle(world)
    world.put("default/a", None)
    settle(world)
    (event,) = (each for each in world.log.events if each.type == "skipped")
    assert (event.count, event.cause) == (4, "backfill")


# cancel


def test_a_cancelled_retry_ends_at_once() -> None:
    world = retrying(schedule=ONCE)
    say(world, "failed")
    settle(world)
    signal(world, "cancel", run_id=world.log.runs[0].run_id)
    settle(world, HOUR)
    assert attempts(world) == [1]
    assert reasons(world, "cancelled") == ["cancelled by command"]


def test_a_cancelled_run_is_told_to_stop_and_counts_until_it_has() -> None:
    world = running_twice("buffer_one")
    signal(world, "cancel", run_id=world.log.runs[0].run_id)
    settle(world, SECOND)
    assert cancelled(world) == [(1, None)]
    assert offsets(world) == [40]
    say(world, "cancelled", 0)
    settle(world)
    assert offsets(world) == [40, 100]


def test_a_run_that_is_cancelled_before_anybody_has_it_ends_by_itself() -> None:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    signal(world, "cancel", run_id=world.log.runs[0].run_id)
    settle(world, 3 * SECOND)
    assert count(world, "cancelled") == 1
    assert world.partition.tally.open_runs == 0


def test_a_trigger_runs_the_definition_that_is_held_then() -> None:
    world = world_with(payload=1)
    edit(world, payload=2)
    signal(world, "trigger", assumes=1)
    settle(world)
    assert world.log.runs[0].payload == b"2"
