"""New runs, and runs that were handed back, go where a worker can take them."""

from collections import Counter

import pytest

from tests.scheduler.nodes import TOPICS, Town
from tocsin.broker.errors import BrokerError, BrokerUnreachable, Rebuild
from tocsin.model.runs import Outcome, OutcomeKind, Run
from tocsin.wire.codec import RUN
from tocsin_scheduler.core.workforce import FRESH_MS
from tocsin_scheduler.shell.worker_reports import AGAIN_MS, WorkerReports

NORMAL = TOPICS.runs("normal")


@pytest.fixture
def town() -> Town:
    town = Town()
    for number in range(100):
        town.put(f"job-{number}")
    town.node("a")
    town.settle()
    return town


def said(town: Town, run: Run, kind: OutcomeKind, worker: str) -> Outcome:
    return Outcome(
        run_id=run.run_id,
        tenant=run.tenant,
        job_id=run.job_id,
        attempt=run.attempt,
        kind=kind,
        worker=worker,
        time=town.clock.now_ms(),
        run=run if kind in {"declined", "failed"} else None,
    )


def placed(town: Town, after: int = 0) -> Counter[int]:
    """How many runs each partition has got since the one with that number in the log."""
    records = [record for record in town.records(NORMAL) if record.value]
    return Counter(record.partition for record in records if record.timestamp > after)


def test_without_reports_all_partitions_are_used(town: Town) -> None:
    town.pass_time(4_000)
    assert set(placed(town)) == {0, 1}


def test_a_worker_without_a_free_slot_gets_no_new_runs(town: Town) -> None:
    town.report("full", "normal:0", free=0)
    town.report("idle", "normal:1")
    town.settle()
    before = town.clock.now_ms()
    town.pass_time(4_000)
    assert placed(town, before) == {1: 400}


def test_once_all_are_full_every_partition_is_used_again(town: Town) -> None:
    for place, worker in enumerate(("full", "also")):
        town.report(worker, f"normal:{place}", free=0)
    town.settle()
    before = town.clock.now_ms()
    town.pass_time(4_000)
    assert set(placed(town, before)) == {0, 1}


def test_reports_that_are_too_old_are_forgotten(town: Town) -> None:
    town.report("idle", "normal:1")
    town.settle()
    town.pass_time(6_000)
    before = town.clock.now_ms()
    town.pass_time(4_000)
    assert set(placed(town, before)) == {0, 1}


def test_runs_handed_back_go_elsewhere_as_the_same_attempt(town: Town) -> None:
    """Also where the report of the worker that hands them back still claims free slots."""
    town.report("stuck", "normal:0")
    town.report("idle", "normal:1")
    town.settle()
    town.pass_time(1_000)
    there = [RUN.decode(r.value) for r in town.records(NORMAL) if r.partition == 0 and r.value]
    before = town.clock.now_ms()
    town.clock.advance(100)
    for run in there:
        town.say(said(town, run, "declined", "stuck"))
    town.settle()
    assert placed(town, before) == {1: len(there)}
    again = Counter(run.run_id for run in town.runs() if run.attempt == 1)
    assert {again[run.run_id] for run in there} == {2}


def test_a_report_that_cannot_be_read_leaves_everything_as_it_was(town: Town) -> None:
    town.producer.produce(TOPICS.workers, b"w", b"garbage")
    town.report("idle", "normal:1")
    town.settle()
    before = town.clock.now_ms()
    town.pass_time(2_000)
    assert placed(town, before) == {1: 200}


@pytest.mark.parametrize("error", [BrokerUnreachable("nobody there"), Rebuild("compacted away")])
def test_where_reports_cannot_be_read_it_is_said_and_tried_again(
    town: Town, error: BrokerError, caplog: pytest.LogCaptureFixture
) -> None:
    reports = WorkerReports(town.cluster, TOPICS.workers, lambda record, reason: None)
    now = town.clock.now_ms()
    town.report("w", "normal:1")
    town.cluster.faults.plan("poll_batch", error)
    assert reports.read(now, FRESH_MS) == []
    assert "runs are spread evenly" in caplog.text
    assert reports.read(now + AGAIN_MS - 1, FRESH_MS) == []
    assert [found.worker for found in reports.read(now + AGAIN_MS, AGAIN_MS)] == ["w"]
    reports.close()
