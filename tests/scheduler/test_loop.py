"""The loop over a cluster in memory: firing, ownership, and what a process leaves to the next."""

from typing import get_args

import pytest

from tests.scheduler.nodes import PARTITIONS, TOPICS, Crash, Node, Town
from tests.scheduler.outcomes import outcome_of
from tocsin.broker.errors import (
    FENCED_INSTANCE,
    AbortTransaction,
    BrokerError,
    BrokerUnreachable,
    Die,
    Fenced,
    OutcomeUnknown,
    Retry,
)
from tocsin.broker.port import Isolation, TopicPartition
from tocsin.testing.faults import Call
from tocsin.timetable.fieldset import ScheduleFields
from tocsin.timetable.instants import format_instant
from tocsin_scheduler.shell.absence import AWAY_MS
from tocsin_scheduler.shell.metadata import Mark, parse_mark
from tocsin_scheduler.shell.ownership import Phase
from tocsin_scheduler.shell.working import Working
from tocsin_scheduler.store.memory import MemoryStores

ALL = set(range(PARTITIONS))
STEPS: tuple[Call, ...] = ("flush", "send_offsets", "commit")


@pytest.fixture
def town() -> Town:
    town = Town()
    for number in range(6):
        town.put(f"job-{number}")
    return town


def fires_each_second(town: Town, seconds: int) -> None:
    """Every job has fired once for each of the seconds, and never twice."""
    assert town.doubled() == []
    for number in range(6):
        assert town.times(f"job-{number}") == list(range(1, seconds + 1))


def marks(town: Town) -> list[Mark | None]:
    """What the group's offsets of the jobs topic say."""
    reader = town.cluster.log_reader(TOPICS.scheduler_group, isolation=Isolation.UNCOMMITTED)
    places = [TopicPartition(TOPICS.jobs, number) for number in range(PARTITIONS)]
    found = reader.committed(places, 1.0)
    return [parse_mark(found[place].metadata) for place in places]


# a single process


def test_jobs_fire_at_their_times(town: Town) -> None:
    town.node("a")
    town.settle()
    town.pass_time(5_000)
    fires_each_second(town, 5)


def test_a_job_that_was_deleted_fires_no_more(town: Town) -> None:
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.delete("job-0")
    town.settle()
    town.pass_time(3_000)
    assert town.times("job-0") == [1, 2]
    assert town.times("job-1") == [1, 2, 3, 4, 5]


def test_an_owner_is_named_in_the_offsets(town: Town) -> None:
    town.node("a")
    town.settle()
    owners = {mark.owner for mark in marks(town) if mark is not None}
    assert len(owners) == 1
    assert str(owners.pop()).startswith(f"{TOPICS.prefix}.scheduler.a.")


def test_nothing_to_do_makes_no_transaction_for_a_minute(town: Town) -> None:
    for number in range(6):
        town.delete(f"job-{number}")
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    before = town.ends(TOPICS.state)
    town.pass_time(50_000)
    assert town.ends(TOPICS.state) == before
    town.pass_time(20_000)
    assert all(end > former for end, former in zip(town.ends(TOPICS.state), before, strict=True))


# more than one process


def test_a_second_process_takes_its_share_and_no_occurrence_is_lost_or_doubled(town: Town) -> None:
    first = town.node("a")
    town.settle()
    town.pass_time(2_000)
    second = town.node("b")
    town.settle()
    town.pass_time(3_000)
    assert len(first.owned) == len(second.owned) == 1
    assert first.owned | second.owned == ALL
    fires_each_second(town, 5)


def test_what_is_given_up_cleanly_has_no_owner(town: Town) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.stop(node)
    assert [mark and mark.owner for mark in marks(town)] == [None] * PARTITIONS
    assert town.watermark_owners() == ["", ""]


def test_what_is_lost_is_left_as_it_is(town: Town) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    before = marks(town)
    town.expel(node)
    other = town.node("b")
    other.loop.step()
    node.loop.step()
    assert node.owned == set()
    assert marks(town) == before


def test_processes_that_live_do_not_fence_each_other(town: Town) -> None:
    first = town.node("a")
    town.settle()
    town.node("b")
    town.settle()
    town.pass_time(2_000)
    assert first.loop.commits.fencings == 0


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_a_restarted_process_goes_on_where_it_was(town: Town, keeps_disk: bool) -> None:
    node = town.node("a", static=True)
    town.settle()
    town.pass_time(2_000)
    disk = town.stop(node)
    town.clock.advance(1_000)
    town.node("a", disk if keeps_disk else MemoryStores(), static=True)
    town.settle()
    town.pass_time(2_000)
    fires_each_second(town, 5)


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_a_state_that_cannot_be_read_is_counted_and_stops_nothing(
    town: Town, caplog: pytest.LogCaptureFixture, keeps_disk: bool
) -> None:
    node = town.node("a", static=True)
    town.settle()
    town.pass_time(2_000)
    disk = town.kill(node)
    keys = (b"default/job-0", b"default/job-1#default.job-1.x", b"%watermark/0", b"\xff", b"")
    for key in keys:
        town.producer.produce(TOPICS.state, key, b"garbage")
    successor = town.node("a", disk if keeps_disk else MemoryStores(), static=True)
    town.settle()
    town.pass_time(3_000)
    fires_each_second(town, 5)
    names = ("tocsin_records_refused_total", {"topic": TOPICS.state})
    assert successor.metrics.registry.get_sample_value(*names) == len(keys)
    assert caplog.text.count(f"{TOPICS.state}[") == len(keys)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("keeps_disk", [True, False])
def test_a_crash_in_a_transaction_loses_and_doubles_nothing(
    town: Town, step: Call, applied: bool, keeps_disk: bool
) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.crash_at(step, applied=applied)
    town.clock.advance(1_000)
    with pytest.raises(Crash):
        town.settle()
    disk = town.kill(node)
    town.clock.advance(1_000)
    town.node("b", disk if keeps_disk else MemoryStores())
    town.settle()
    town.pass_time(1_000)
    fires_each_second(town, 5)


def test_b083_a_frozen_owner_that_wakes_up_after_the_takeover_writes_nothing_and_serves_on(
    town: Town,
) -> None:
    frozen = town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.freeze(frozen)
    town.node("b")
    town.settle()
    town.pass_time(2_000)
    town.wake(frozen)
    town.settle()
    town.pass_time(1_000)
    fires_each_second(town, 5)
    assert len(frozen.owned) == 1


def test_b145_a_transaction_that_timed_out_is_done_again_by_a_new_producer(town: Town) -> None:
    """The brokers were away for longer than it may last: they abort it and fence its producer."""
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.cluster.faults.plan("commit", BrokerUnreachable("nobody there"))
    town.cluster.faults.plan("abort", BrokerUnreachable("nobody there"))
    town.clock.advance(1_000)
    node.loop.step()
    town.cluster.expire_transactions()
    town.pass_time(2_000)
    assert node.owned == ALL
    fires_each_second(town, 5)


def test_a_successor_does_not_wait_for_the_open_transaction_of_the_dead(town: Town) -> None:
    node = town.node("a")
    town.settle()
    town.crash_at("commit")
    town.clock.advance(1_000)
    with pytest.raises(Crash):
        town.settle()
    town.kill(node)
    successor = town.node("b")
    town.settle()
    assert successor.owned == ALL
    fires_each_second(town, 1)


def test_b146_a_second_process_of_the_same_name_ends_the_first(town: Town) -> None:
    first = town.node("a", static=True)
    town.settle()
    town.nodes.clear()
    town.node("a", static=True)
    town.settle()
    with pytest.raises(Die, match="FENCED_INSTANCE_ID"):
        first.loop.step()


@pytest.mark.parametrize("call", ["poll", "send_offsets"])
def test_whoever_was_away_for_long_and_meets_itself_in_the_group_joins_again(
    town: Town, call: Call
) -> None:
    """It is told that another process has its name: that was itself."""
    node = town.node("a", static=True)
    town.settle()
    town.clock.advance(AWAY_MS)
    town.cluster.faults.plan(call, Die("no place", code=FENCED_INSTANCE))
    town.settle()
    town.pass_time(1_000)
    assert node.owned == ALL
    fires_each_second(town, 6)


def test_of_two_of_the_same_name_one_ends_though_the_first_was_away(town: Town) -> None:
    first = town.node("a", static=True)
    town.settle()
    town.clock.advance(AWAY_MS)
    second = town.node("a", static=True)
    second.loop.step()
    for _ in range(3):
        first.loop.step()
    with pytest.raises(Die, match=FENCED_INSTANCE):
        second.loop.step()
    town.nodes.remove(second)
    town.settle()
    town.pass_time(1_000)
    assert first.owned == ALL
    fires_each_second(town, 6)


# what fails on the way


FAILURES: list[BrokerError] = [
    Retry("not now"),
    BrokerUnreachable("nobody there"),
    AbortTransaction("abort it"),
    OutcomeUnknown("who knows"),
    Fenced("somebody else", code="_FENCED"),
    Fenced("late", code="ILLEGAL_GENERATION"),
]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: error.code or type(error).__name__)
@pytest.mark.parametrize("applied", [False, True])
def test_a_failed_transaction_loses_and_doubles_nothing(
    town: Town, step: Call, error: BrokerError, applied: bool
) -> None:
    town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.cluster.faults.plan(step, error, applied=applied)
    town.pass_time(3_000)
    fires_each_second(town, 5)


OTHER_CALLS = [call for call in get_args(Call) if call not in (*STEPS, "commit_offsets")]


@pytest.mark.parametrize("call", OTHER_CALLS)
@pytest.mark.parametrize("times", [1, 3])
def test_a_broker_that_does_not_answer_for_a_while_is_no_harm(
    town: Town, call: Call, times: int
) -> None:
    node = town.node("a")
    for _ in range(times):
        town.cluster.faults.plan(call, BrokerUnreachable("nobody there"))
    town.settle(20)
    town.pass_time(2_000, stride_ms=100)
    for _ in range(times):
        town.cluster.faults.plan(call, BrokerUnreachable("nobody there"))
    town.pass_time(3_000, stride_ms=100)
    assert node.owned == ALL
    fires_each_second(town, 5)


def test_an_abort_that_fails_too_is_no_harm(town: Town) -> None:
    town.node("a")
    town.settle()
    town.cluster.faults.plan("flush", AbortTransaction("abort it"))
    town.cluster.faults.plan("abort", OutcomeUnknown("who knows"))
    town.pass_time(3_000)
    fires_each_second(town, 3)


@pytest.mark.parametrize("error", FAILURES, ids=lambda error: error.code or type(error).__name__)
def test_a_release_that_fails_once_is_tried_again(town: Town, error: BrokerError) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.cluster.faults.plan("send_offsets", error)
    town.stop(node)
    town.node("b")
    town.settle()
    town.pass_time(1_000)
    fires_each_second(town, 3)


@pytest.mark.parametrize("hears", ["at once", "by its abort"])
def test_b146_whoever_is_fenced_drops_everything_and_joins_again(town: Town, hears: str) -> None:
    """One that stood still hears of it late: first everything it had asked for has timed out."""
    node = town.node("a")
    town.settle()
    owner = next(mark.owner for mark in marks(town) if mark is not None)
    assert owner is not None
    town.cluster.fence(owner, 1.0)
    town.clock.advance(1_000)
    if hears == "by its abort":
        town.cluster.faults.plan("flush", Retry("nobody answers", code="_TIMED_OUT"))
    node.loop.step()
    assert node.loop.commits.fencings == 1
    node.loop.step()
    assert node.phases == {} or set(node.phases.values()) != {Phase.OWNED}
    town.settle()
    town.pass_time(2_000)
    assert node.owned == ALL
    fires_each_second(town, 3)


def test_an_error_that_no_repetition_helps_ends_the_loop(town: Town) -> None:
    node: Node = town.node("a")
    town.settle()
    town.cluster.faults.plan("poll", Die("no rights", code="GROUP_AUTHORIZATION_FAILED"))
    with pytest.raises(Die, match="no rights"):
        node.loop.step()


# offsets that are not ours


@pytest.mark.parametrize("topic", [TOPICS.jobs, TOPICS.signals, TOPICS.outcomes])
@pytest.mark.parametrize("keeps_disk", [True, False])
def test_offsets_that_an_operator_has_reset_are_left_aside(
    town: Town, topic: str, keeps_disk: bool
) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    disk = town.kill(node)
    for number in range(PARTITIONS):
        place = TopicPartition(topic, number)
        town.cluster.reset_offset(TOPICS.scheduler_group, place, 0)
    again = town.node("b", disk if keeps_disk else MemoryStores())
    town.settle(20)
    town.pass_time(1_000)
    fires_each_second(town, 3)
    assert 'tocsin_alarms_total{action="offsets_foreign"}' in again.metrics.exposition().decode()


def test_what_was_read_back_is_read_back_again_by_whoever_comes_next(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first successor claims the pair of the last watermark and dies before it has met again
    what was emitted behind it; the next finds that pair in the offsets."""
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    town.kill(node)
    town.cluster.forget_offsets(TOPICS.scheduler_group)
    second = town.node("b")
    with monkeypatch.context() as patch:
        patch.setattr(Working, "step", _dies_when_all_is_claimed)
        with pytest.raises(Crash):
            town.settle(20)
    assert second.owned == ALL
    town.kill(second)
    town.node("c")
    town.settle(20)
    town.pass_time(1_000)
    fires_each_second(town, 3)


def _dies_when_all_is_claimed(working: Working, longest_wait_ms: int) -> bool:
    if len(working._tenures.owned) == PARTITIONS:
        raise Crash
    return True


def succeed_without_offsets(town: Town, node: Node, *, keeps_disk: bool) -> None:
    """The node is killed, and its successor finds no offsets of the group."""
    disk = town.kill(node)
    town.cluster.forget_offsets(TOPICS.scheduler_group)
    town.node("b", disk if keeps_disk else MemoryStores())
    town.settle(20)


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_offsets_that_are_lost_in_the_first_minute_of_an_installation_are_made_up(
    town: Town, keeps_disk: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its only watermark is that of the first claim, before anything was accounted."""
    monkeypatch.setattr("tocsin_scheduler.shell.working.BEACON_MS", 1 << 60)
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    succeed_without_offsets(town, node, keeps_disk=keeps_disk)
    town.pass_time(1_000)
    fires_each_second(town, 3)


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_what_was_skipped_behind_the_last_watermark_is_not_recorded_again(
    town: Town, keeps_disk: bool
) -> None:
    """Nor does it run, now that its run has ended before which it was skipped."""
    town.put("one-at-a-time", overlap="skip")
    node = town.node("a")
    town.settle()
    town.pass_time(3_000)
    (run,) = (run for run in town.runs() if run.job_id == "one-at-a-time")
    town.say(outcome_of(run, "succeeded", town.clock.now_ms()))
    succeed_without_offsets(town, node, keeps_disk=keeps_disk)
    town.pass_time(3_000)
    skipped, ran = town.skipped("one-at-a-time"), town.times("one-at-a-time")
    assert skipped[0] == 2
    assert sorted([*skipped, *ran])[:5] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_a_one_off_that_has_run_behind_the_last_watermark_is_not_recorded_as_skipped(
    town: Town, keeps_disk: bool
) -> None:
    """Its instant lay before its command, which is met a second time."""
    node = town.node("a")
    town.settle()
    town.put_schedule("late", ScheduleFields(at=format_instant(town.clock.now_ms() - 1_000)))
    town.pass_time(2_000)
    assert town.times("late") == [-1]
    succeed_without_offsets(town, node, keeps_disk=keeps_disk)
    town.pass_time(2_000)
    assert (town.times("late"), town.skipped("late")) == ([-1], [])


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_b153_offsets_that_have_expired_are_made_up_from_the_last_watermark(
    town: Town, keeps_disk: bool
) -> None:
    node = town.node("a")
    town.settle()
    town.pass_time(2_000)
    succeed_without_offsets(town, node, keeps_disk=keeps_disk)
    town.pass_time(1_000)
    fires_each_second(town, 3)
