"""What a scheduler process notices of itself and of its cluster."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.scheduler.nodes import PARTITIONS, TOPICS, AtOnce, Node, Town
from tocsin.broker.errors import BrokerUnreachable
from tocsin.broker.port import TopicPartition
from tocsin.model.jobs import PRIORITIES
from tocsin.testing import MemoryCluster, SettableClock
from tocsin.wire.headers import SourceIds
from tocsin.wire.topics import Topics
from tocsin_scheduler.shell.housekeeping import (
    MISSED_POOL_MS,
    POOLS_MS,
    BackgroundTask,
    Housekeeping,
    Rhythm,
)
from tocsin_scheduler.shell.log_identity import LogIdentity, LogWatch
from tocsin_scheduler.shell.pools import Pools
from tocsin_scheduler.shell.premises import Premises
from tocsin_scheduler.shell.report import Report
from tocsin_scheduler.shell.stability import ALARM_MS, Stability
from tocsin_scheduler.shell.status import StatusBoard
from tocsin_scheduler.shell.watchdog import PATIENCE_MS, Watchdog

# stability: an open transaction of somebody else


class Log:
    """One partition, and somebody whose transactions stay open."""

    def __init__(self) -> None:
        self.clock = SettableClock()
        self.cluster = MemoryCluster(self.clock)
        self.cluster.create_topic("t", 1)
        self.place = TopicPartition("t", 0)
        self.stability = Stability(self.cluster, self.clock)
        self.stranger = self.cluster.transactional_producer("stranger")
        self.stranger.init(1.0)

    def hold_up(self) -> None:
        self.stranger.begin()
        self.stranger.produce("t", b"k", b"v", 0)
        self.stranger.flush(1.0)

    def look(self) -> list[TopicPartition]:
        return self.stability.look([self.place])


def test_a_transaction_that_holds_readers_up_for_ten_seconds_is_noticed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    log = Log()
    log.hold_up()
    assert log.look() == []
    log.clock.advance(ALARM_MS - 1)
    assert log.look() == []
    log.clock.advance(1)
    assert log.look() == [log.place]
    assert "t[0]: readers have been held up at offset 0 for over 10 s" in caplog.text


def test_one_transaction_after_another_holds_nobody_up() -> None:
    log = Log()
    for _ in range(4):
        log.hold_up()
        assert log.look() == []
        log.clock.advance(ALARM_MS // 2)
        log.stranger.commit(1.0)
    log.clock.advance(ALARM_MS)
    assert log.look() == []


def test_looking_at_nothing_finds_nothing() -> None:
    assert Log().stability.look([]) == []


# the watchdog


def test_a_loop_that_is_stuck_is_told_with_its_stack_and_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SettableClock()
    watchdog = Watchdog(clock)
    watchdog.beat()
    clock.advance(PATIENCE_MS)
    watchdog.look()
    assert (watchdog.stuck, caplog.text) == (None, "")
    clock.advance(1_000)
    watchdog.look()
    watchdog.look()
    assert watchdog.stuck == "the loop has been stuck for 31 s"
    (line,) = caplog.records
    assert f"thread {threading.current_thread().name}" in line.getMessage()
    assert "test_a_loop_that_is_stuck_is_told" in line.getMessage()


def test_a_loop_that_goes_on_is_stuck_no_more_and_may_be_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = SettableClock()
    watchdog = Watchdog(clock)
    for _ in range(2):
        clock.advance(PATIENCE_MS + 1)
        watchdog.look()
        watchdog.beat()
        assert watchdog.stuck is None
    assert len(caplog.records) == 2


def test_it_watches_until_it_is_told_that_it_is_over() -> None:
    answers = iter([False, False, True])
    Watchdog(SettableClock()).watch(lambda seconds: seconds == 1.0 and next(answers))
    assert list(answers) == []


# pools


def with_pools(*pools: str, partitions: int = 3) -> tuple[MemoryCluster, Pools]:
    cluster, topics = MemoryCluster(), Topics("t")
    for pool in pools:
        for priority in PRIORITIES:
            cluster.create_topic(topics.runs(priority, pool), partitions)
    return cluster, Pools(cluster, topics)


def test_a_pool_is_there_when_its_three_topics_are() -> None:
    cluster, pools = with_pools("default", "gpu")
    cluster.create_topic("t.runs.half.high", 3)
    cluster.create_topic("other.runs.high", 3)
    assert "default" not in pools
    pools.refresh()
    assert list(pools) == ["default", "gpu"]
    assert pools.run_topics["t.runs.gpu.low"] == 3
    assert len(pools.run_topics) == 6


def test_a_pool_that_was_asked_for_in_vain_is_remembered_until_the_next_look() -> None:
    cluster, pools = with_pools("default")
    pools.refresh()
    assert "gpu" not in pools
    assert pools.missed == {"gpu"}
    for priority in PRIORITIES:
        cluster.create_topic(Topics("t").runs(priority, "gpu"), 3)
    pools.refresh()
    assert "gpu" in pools
    assert pools.missed == frozenset()


# what is done every now and then


def test_a_rhythm_is_due_at_first_and_then_once_each_time() -> None:
    clock = SettableClock()
    rhythm = Rhythm(clock, 1_000)
    assert [rhythm.is_due(), rhythm.is_due()] == [True, False]
    clock.advance(999)
    assert not rhythm.is_due()
    clock.advance(1)
    assert rhythm.is_due()


def test_a_background_task_runs_one_at_a_time_and_its_failure_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    done: list[int] = []
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait()
        raise BrokerUnreachable("nobody there")

    with ThreadPoolExecutor(1) as executor:
        task = BackgroundTask(executor, "chore")
        task.start(slow)
        begun.wait()
        task.start(lambda: done.append(1))
        go_on.set()
        executor.submit(int).result()
        task.start(lambda: done.append(2))
    assert done == [2]
    assert "chore: nobody there" in caplog.text


def test_a_background_task_with_a_defect_is_not_silent() -> None:
    with ThreadPoolExecutor(1) as executor:
        task = BackgroundTask(executor, "chore")
        task.start(lambda: [][0])
        executor.submit(int).result()
        with pytest.raises(IndexError):
            task.start(lambda: None)


# status


class Home:
    """A scheduler process in a town, with its housekeeping."""

    def __init__(self) -> None:
        self.town = Town()
        self.node: Node = self.town.node("a")
        self.board = StatusBoard("a", self.node.metrics)
        self.pools = Pools(self.town.cluster, TOPICS)
        self.pools.refresh()
        self.keeping = Housekeeping(
            self.node.loop,
            self.board,
            self.pools,
            Stability(self.town.cluster, self.town.clock),
            LogWatch(self.town.cluster, TOPICS, self.town.log),
            Report(self.node.metrics, TOPICS),
            TOPICS,
            self.town.clock,
            AtOnce(),
        )

    def live(self, seconds: int) -> None:
        for _ in range(seconds):
            self.town.clock.advance(1_000)
            self.town.settle(3)
            self.keeping.step()

    def metric(self, name: str) -> float:
        lines = self.node.metrics.exposition().decode().splitlines()
        return next(float(line.split()[-1]) for line in lines if line.startswith(f"{name} "))


def test_readiness_says_what_is_missing_until_all_that_is_assigned_is_owned() -> None:
    home = Home()
    assert home.board.not_ready == "starting"
    home.board.waiting_for = None
    assert home.board.not_ready == "no partition is assigned yet"
    home.node.loop.step()
    home.keeping.step()
    assert str(home.board.not_ready).startswith("not all assigned partitions are owned: 0 ")
    home.live(3)
    assert home.board.not_ready is None


def test_the_status_has_a_line_for_each_partition() -> None:
    home = Home()
    for number in range(4):
        home.town.put(f"job-{number}", overlap="skip")
    home.live(5)
    status = home.board.status
    assert (status["node"], status["clock_off"]) == ("a", False)
    lines = status["partitions"]
    assert isinstance(lines, list)
    assert [line["partition"] for line in lines] == list(range(PARTITIONS))
    assert {line["phase"] for line in lines} == {"owned"}
    assert sum(line["jobs"] for line in lines) == 4
    assert sum(line["open_runs"] for line in lines) == 4
    assert all(line["watermark_lag_ms"] <= 1_000 for line in lines)


def test_the_gauges_say_the_same() -> None:
    home = Home()
    home.town.put("job", overlap="skip")
    home.live(5)
    assert home.metric("tocsin_partitions_owned") == PARTITIONS
    assert home.metric("tocsin_runs_open") == 1
    assert home.metric("tocsin_restore_remaining_records") == 0


def test_a_pool_made_later_is_found_soon_where_a_job_waits_for_it() -> None:
    home = Home()
    home.live(1)
    for priority in PRIORITIES:
        home.town.cluster.create_topic(TOPICS.runs(priority, "gpu"), 2)
    home.live(MISSED_POOL_MS // 1_000 + 1)
    assert list(home.pools) == ["default"], "nobody has asked for it"
    assert "gpu" not in home.pools
    home.live(MISSED_POOL_MS // 1_000 + 1)
    assert "gpu" in home.pools
    assert TOPICS.runs("high", "gpu") in home.node.loop.spreading.choosers


def test_a_pool_is_found_in_a_minute_at_the_latest() -> None:
    home = Home()
    home.live(1)
    for priority in PRIORITIES:
        home.town.cluster.create_topic(TOPICS.runs(priority, "gpu"), 2)
    home.live(POOLS_MS // 1_000 + 1)
    assert list(home.pools) == ["default", "gpu"]


def test_a_store_has_a_name_that_is_one_folder() -> None:
    """Ids of topics have slashes in the client's words."""
    nothing: Any = None
    premises = Premises(
        cluster=nothing,
        topics=Topics(),
        log=LogIdentity("cluster", SourceIds("a/b/c", "s", "o"), "t"),
        stores=nothing,
        config=nothing,
        run_topics=dict,
        catch_up_rate=1,
        node="n",
        is_static=False,
    )
    assert premises.store_name(3) == "cluster.tocsin.a_b_c.3"
