"""Schedulers come and go: rolling restarts, rebalances during a restore, kills before a slot."""

import pytest

from tests.scheduler.nodes import TOPICS, Crash, Town
from tocsin.testing.groups import Group
from tocsin_scheduler.store.memory import MemoryStores

PARTITIONS = 8
JOBS = 40


@pytest.fixture
def town() -> Town:
    town = Town(PARTITIONS)
    for number in range(JOBS):
        town.put(f"job-{number}", every_s=2)
    return town


def fires_every_other_second(town: Town, seconds: int) -> None:
    """Every job has fired once for each of its slots, and never twice."""
    assert town.doubled() == []
    for number in range(JOBS):
        assert town.times(f"job-{number}") == list(range(2, seconds + 1, 2))


def owns_each_partition_once(town: Town) -> None:
    owned = [number for node in town.nodes for number in node.owned]
    assert sorted(owned) == list(range(PARTITIONS))


def group_of(town: Town) -> Group:
    return town.cluster._group(TOPICS.scheduler_group)


def test_b147_from_one_member_to_three_and_back_to_two(town: Town) -> None:
    town.node("a")
    town.pass_time(2_000)
    town.node("b")
    town.pass_time(2_000)
    town.node("c")
    town.pass_time(4_000)
    owns_each_partition_once(town)
    town.stop(town.nodes[0])
    town.pass_time(4_000)
    owns_each_partition_once(town)
    fires_every_other_second(town, 12)


def test_b149_a_rolling_restart_of_static_members_moves_no_partition(town: Town) -> None:
    for name in "abc":
        town.node(name, static=True)
    town.pass_time(6_000)
    held = {node.name: node.owned for node in town.nodes}
    generation = group_of(town).generation
    for name in "abc":
        leaving = next(node for node in town.nodes if node.name == name)
        town.node(name, town.stop(leaving), static=True)
        town.pass_time(2_000)
    assert {node.name: node.owned for node in town.nodes} == held
    assert group_of(town).generation == generation
    fires_every_other_second(town, 12)


def test_b149_a_rolling_restart_of_dynamic_members_converges(town: Town) -> None:
    for name in "abc":
        town.node(name)
    town.pass_time(6_000)
    for name in "abc":
        leaving = next(node for node in town.nodes if node.name == name)
        disk = town.stop(leaving)
        town.pass_time(2_000)
        owns_each_partition_once(town)
        town.node(name, disk)
        town.pass_time(2_000)
        owns_each_partition_once(town)
    fires_every_other_second(town, 18)


@pytest.mark.parametrize("stride", range(1, 7))
def test_b150_rebalances_during_a_cold_start_harm_no_restore(town: Town, stride: int) -> None:
    """Four nodes start a few steps one after the other, all without a store."""
    first = town.node("first")
    town.pass_time(4_000)
    town.kill(first)
    for name in "abcd":
        town.node(name)
        for _ in range(stride):
            for node in town.nodes:
                node.step()
    town.settle(30)
    town.pass_time(2_000)
    owns_each_partition_once(town)
    lives = [live for node in town.nodes for live in node.loop.tenures.owned.values()]
    assert sum(live.core.tally.jobs for live in lives) == JOBS
    fires_every_other_second(town, 6)


@pytest.mark.parametrize("keeps_disk", [True, False])
def test_b070_an_owner_killed_just_before_each_slot_loses_none(
    town: Town, keeps_disk: bool
) -> None:
    node = town.node("0")
    town.settle()
    for number in range(1, 6):
        town.clock.advance(1_900)
        town.settle(2)
        disk = town.kill(node)
        node = town.node(str(number), disk if keeps_disk else MemoryStores())
        town.clock.advance(100)
        town.settle(20)
    fires_every_other_second(town, 10)


def test_b070_an_owner_killed_in_each_transaction_loses_none(town: Town) -> None:
    node = town.node("0")
    town.settle()
    for number in range(1, 6):
        town.crash_at("commit", applied=number % 2 == 0)
        town.clock.advance(2_000)
        with pytest.raises(Crash):
            town.settle()
        node = town.node(str(number), town.kill(node))
        town.settle(20)
    fires_every_other_second(town, 10)
