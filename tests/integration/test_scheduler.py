"""Schedulers as real processes over a real Kafka."""

import shutil
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tests.integration.scheduler_process import PATIENCE, SchedulerProcess
from tests.integration.ticking import PARTITIONS, SECOND_MS, Ticking
from tests.integration.waiting import eventually
from tocsin import clock
from tocsin.broker.admin import TopicAdmin
from tocsin.broker.local import BrokerAddress
from tocsin.wire.topic_specs import shipped_topics
from tocsin.wire.topics import Topics

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


@pytest.fixture
def ticking(broker: BrokerAddress, prefix: str) -> Ticking:
    return Ticking(broker.bootstrap, prefix)


def process(ticking: Ticking, folder: Path, node: str | None = None) -> SchedulerProcess:
    return SchedulerProcess(ticking.bootstrap, ticking.topics.prefix, folder, node)


def goes_on_for(ticking: Ticking, seconds: int) -> int:
    """Let all jobs fire for some seconds from now; the last of them as an instant."""
    through = clock.now_ms() + seconds * SECOND_MS
    eventually(lambda: ticking.has_fired_through(through), PATIENCE)
    return through


def test_jobs_fire_on_time_and_once(ticking: Ticking, tmp_path: Path) -> None:
    with process(ticking, tmp_path) as scheduler:
        scheduler.await_owned(PARTITIONS)
        since = clock.now_ms()
        through = goes_on_for(ticking, 3)
        assert scheduler.stop() == 0
    assert ticking.problems(through) == []
    late = [at - run.due_time for run, at in ticking.fired() if run.due_time > since]
    assert min(late) >= 0
    assert sorted(late)[len(late) // 2] < 500


def test_a_process_that_was_stopped_goes_on_from_its_checkpoint(
    ticking: Ticking, tmp_path: Path
) -> None:
    with process(ticking, tmp_path, "a") as scheduler:
        goes_on_for(ticking, 1)
        assert scheduler.stop() == 0
    with process(ticking, tmp_path, "a") as scheduler:
        through = goes_on_for(ticking, 2)
        assert "restore_cold" not in scheduler.actions()
    assert ticking.problems(through) == []


def test_a_process_whose_store_is_gone_replays_the_log(ticking: Ticking, tmp_path: Path) -> None:
    with process(ticking, tmp_path, "a") as scheduler:
        goes_on_for(ticking, 1)
        scheduler.kill()
    shutil.rmtree(tmp_path / "a-0")
    with process(ticking, tmp_path, "a") as scheduler:
        through = goes_on_for(ticking, 2)
        assert "restore_cold" in scheduler.actions()
    assert ticking.problems(through) == []


def test_a_member_that_joins_takes_its_share_and_gives_it_back(
    ticking: Ticking, tmp_path: Path
) -> None:
    with process(ticking, tmp_path) as first:
        first.await_owned(PARTITIONS)
        with process(ticking, tmp_path) as second:
            second.await_owned(PARTITIONS // 2)
            first.await_owned(PARTITIONS // 2)
            goes_on_for(ticking, 2)
            assert second.stop() == 0
        first.await_owned(PARTITIONS)
        through = goes_on_for(ticking, 1)
        assert "fenced" not in first.actions()
    assert ticking.problems(through) == []


def test_a_process_killed_and_started_again_in_place_keeps_its_partitions(
    ticking: Ticking, tmp_path: Path
) -> None:
    with (
        process(ticking, tmp_path / "other", "b") as other,
        process(ticking, tmp_path, "a") as scheduler,
        SchedulerProcess(
            ticking.bootstrap, ticking.topics.prefix, tmp_path, "a", waits=True
        ) as again,
    ):
        eventually(lambda: "waits" in again.actions(), PATIENCE)
        other.await_owned(PARTITIONS // 2)
        scheduler.await_owned(PARTITIONS // 2)
        held, others = scheduler.owned(), other.owned()
        scheduler.kill()
        again.begin()
        again.await_owned(PARTITIONS // 2)
        assert (again.owned(), other.owned()) == (held, others)
        through = goes_on_for(ticking, 2)
    assert ticking.problems(through) == []


def test_a_second_process_of_the_same_node_elsewhere_ends_the_first(
    ticking: Ticking, tmp_path: Path
) -> None:
    with process(ticking, tmp_path / "here", "a") as first:
        first.await_owned(PARTITIONS)
        with process(ticking, tmp_path / "there", "a") as second:
            assert first.process.wait(PATIENCE) == 4
            assert "scheduler_died" in first.actions()
            second.await_owned(PARTITIONS)


def test_missing_topics_are_named_and_end_it(
    broker: BrokerAddress, prefix: str, tmp_path: Path
) -> None:
    with SchedulerProcess(broker.bootstrap, prefix, tmp_path) as scheduler:
        assert scheduler.process.wait(PATIENCE) == 1
    last = scheduler.lines()[-1]
    assert last["action"] == "scheduler_died"
    assert f"{prefix}.jobs" in last["message"]


def test_b158_topics_that_disagree_on_their_partitions_end_it(
    broker: BrokerAddress, prefix: str, tmp_path: Path
) -> None:
    """Somebody has given `jobs` more: keys would move, and old state stay behind."""
    topics, admin = Topics(prefix), TopicAdmin(broker.bootstrap)
    more, fewer = (
        shipped_topics().expand(topics, partitions=number, replication=1) for number in (6, 4)
    )
    admin.apply(admin.plan([spec for spec in more if spec.name == topics.jobs]))
    admin.apply(admin.plan([spec for spec in fewer if spec.name != topics.jobs]))
    with SchedulerProcess(broker.bootstrap, prefix, tmp_path) as scheduler:
        assert scheduler.process.wait(PATIENCE) == 1
    last = scheduler.lines()[-1]
    assert last["action"] == "scheduler_died"
    assert "4 partitions" in last["message"]


def test_it_waits_for_a_broker_that_is_not_there_and_says_so(prefix: str, tmp_path: Path) -> None:
    with SchedulerProcess("127.0.0.1:1", prefix, tmp_path) as scheduler:
        eventually(lambda: "waiting_for_kafka" in scheduler.actions(), PATIENCE)
        port = next(line["port"] for line in scheduler.lines() if line["action"] == "listening")
        with pytest.raises(HTTPError, match="503"):
            urlopen(f"http://127.0.0.1:{port}/healthz/ready", timeout=PATIENCE)
        assert scheduler.stop() == 0
