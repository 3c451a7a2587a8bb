"""Commands straight onto the log are what the gateway writes."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.gateway.harness import PARTITIONS, Harness
from tocsin import CommandProducer
from tocsin.broker.port import Record
from tocsin.model.errors import InvalidJob, InvalidSignal
from tocsin.model.keys import InvalidKey
from tocsin.wire.codec import JOB
from tocsin.wire.commands import decode_signal
from tocsin.wire.partitions import partition_of

JOB_A = {"schedule": {"cron": "0 7 * * *"}, "handler": {"type": "noop"}}


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    with Harness(tmp_path) as made:
        yield made


@pytest.fixture
def commands(harness: Harness) -> Iterator[CommandProducer]:
    with CommandProducer(cluster=harness.cluster, tenant="default") as made:
        yield made


def written(harness: Harness, topic: str) -> list[Record]:
    return [r for p in range(PARTITIONS) for r in harness.cluster.records(topic, p)]


def test_a_job_is_put_as_the_gateway_puts_it(harness: Harness, commands: CommandProducer) -> None:
    revision = commands.put("a", JOB_A, timeout="5m", owner="me").result(10)
    (record,) = written(harness, harness.topics.jobs)
    harness.settle()
    read = harness.http.get("/v1/jobs/a").json()

    assert record.key == b"default/a"
    assert record.partition == partition_of(b"default/a", PARTITIONS)
    assert JOB.decode(record.value or b"").timeout_ms == 300_000
    assert (read["owner"], read["info"]["revision"]) == ("me", revision)


def test_a_condition_is_judged_in_the_log(harness: Harness, commands: CommandProducer) -> None:
    first = commands.put("a", JOB_A, if_absent=True).result(10)
    commands.put("a", JOB_A, owner="late", if_absent=True).result(10)
    commands.put("a", JOB_A, owner="right", if_revision=first).result(10)
    harness.settle()

    assert harness.http.get("/v1/jobs/a").json()["owner"] == "right"
    with pytest.raises(ValueError, match="one of"):
        commands.put("a", JOB_A, if_absent=True, if_revision=1)


def test_a_job_is_deleted(harness: Harness, commands: CommandProducer) -> None:
    commands.put("a", JOB_A)
    commands.delete("a").result(10)
    harness.settle()

    assert harness.http.get("/v1/jobs/a").status_code == 404


def test_a_trigger_tells_the_run(harness: Harness, commands: CommandProducer) -> None:
    commands.put("a", JOB_A).result(10)
    harness.settle()
    run_id = commands.trigger("a", payload={"by": "hand"}).result(10)
    harness.settle()
    run = harness.http.get(f"/v1/runs/{run_id}").json()

    assert (run["status"], run["cause"]) == ("pending", "manual")


def test_signals_stand_under_the_job_they_are_about(
    harness: Harness, commands: CommandProducer
) -> None:
    run_id = "default.a.20260105T060000.000Z"
    name = commands.backfill(
        "a", datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    ).result(10)
    commands.cancel(run_id).result(10)
    backfill, cancel = written(harness, harness.topics.signals)

    assert (backfill.key, cancel.key) == (b"default/a", b"default/a")
    assert decode_signal(backfill.value or b"").signal_id == name
    assert decode_signal(cancel.value or b"").run_id == run_id


def test_what_is_wrong_is_told_before_anything_is_written(
    harness: Harness, commands: CommandProducer
) -> None:
    with pytest.raises(InvalidJob, match="/schedule/cron"):
        commands.put("a", schedule={"cron": "nope"}, handler={"type": "noop"})
    later = datetime(2026, 1, 2, tzinfo=UTC)
    with pytest.raises(InvalidSignal, match="/overlap: expected one of skip"):
        commands.trigger("j", overlap="never")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"payload\.a: nan is not JSON"):
        commands.trigger("j", payload={"a": math.nan})
    with pytest.raises(InvalidSignal):
        commands.backfill("a", later, datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(InvalidKey):
        commands.trigger("no/such")

    assert written(harness, harness.topics.jobs) == written(harness, harness.topics.signals) == []
