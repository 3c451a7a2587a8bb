"""The audit of a real log, while a scheduler writes it and afterwards."""

from pathlib import Path

import pytest

from tests.integration.scheduler_process import PATIENCE, SchedulerProcess
from tests.integration.ticking import PARTITIONS, SECOND_MS, Ticking
from tests.integration.waiting import eventually
from tocsin import clock
from tocsin.broker.local import BrokerAddress
from tocsin.model.runs import Run
from tocsin.wire.codec import RUN
from tocsin_cli.audit import Finding, Report, audit

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]


@pytest.fixture
def ticking(broker: BrokerAddress, prefix: str) -> Ticking:
    return Ticking(broker.bootstrap, prefix)


def audited(ticking: Ticking) -> tuple[Report, list[Finding]]:
    found: list[Finding] = []
    report = audit(ticking.cluster, ticking.topics, on_finding=found.append)
    return report, found


def test_a_log_is_clean_while_it_grows_and_a_run_put_in_is_named(
    ticking: Ticking, tmp_path: Path
) -> None:
    with SchedulerProcess(ticking.bootstrap, ticking.topics.prefix, tmp_path, None) as scheduler:
        scheduler.await_owned(PARTITIONS)
        proven = []
        for _ in range(3):
            _goes_on(ticking)
            report, found = audited(ticking)
            assert found == []
            proven.append(report.total("once"))
        assert 0 < proven[0] < proven[1] < proven[2]
        assert scheduler.stop() == 0
    _put_in(ticking, run := ticking.fired()[0].run)
    _, found = audited(ticking)
    named = [(each.key, each.scheduled_time, each.verdict) for each in found]
    assert named == [(run.key, run.scheduled_time, "doubled")]


def _goes_on(ticking: Ticking) -> None:
    through = clock.now_ms() + SECOND_MS
    eventually(lambda: ticking.has_fired_through(through), PATIENCE)


def _put_in(ticking: Ticking, run: Run) -> None:
    producer = ticking.cluster.producer()
    producer.produce(ticking.topics.runs(run.priority), run.run_id.encode(), RUN.encode(run))
    assert producer.flush(PATIENCE) == 0
    producer.close()
