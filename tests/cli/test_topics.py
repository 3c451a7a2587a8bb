"""`tocsin topics` and `tocsin broker` on a real Kafka."""

from pathlib import Path

import pytest

from tests.cli.conftest import Tocsin
from tocsin.broker.local import BrokerAddress
from tocsin.broker.local.ports import free_port

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

FITS = "all topics are as they must be\n"


@pytest.fixture
def _cluster(broker: BrokerAddress, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_BROKERS", broker.bootstrap)
    monkeypatch.setenv("TOCSIN_PREFIX", prefix)


@pytest.mark.usefixtures("_cluster")
def test_topics_are_planned_made_and_checked(tocsin: Tocsin, prefix: str) -> None:
    small = ("--partitions", "2", "--replication", "1")
    missing = tocsin("topics", "check")
    assert missing.code == 1
    assert f"{prefix}.jobs is missing" in missing.out

    planned = tocsin("topics", "plan", *small, "--output", "json")
    assert planned.code == 0
    assert {change["kind"] for change in planned.json} == {"create"}

    made = tocsin("topics", "apply", *small, "--output", "json")
    assert (made.code, made.json) == (0, planned.json)
    assert tocsin("topics", "check") == (0, FITS, "")
    assert tocsin("topics", "apply") == (0, FITS, "")


@pytest.mark.usefixtures("_cluster")
def test_what_apply_cannot_mend_is_a_negative_answer(tocsin: Tocsin, prefix: str) -> None:
    tocsin("topics", "apply", "--partitions", "2", "--replication", "1")
    planned = tocsin("topics", "plan", "--partitions", "3")
    assert planned.code == 1
    assert f"{prefix}.jobs has 2 partitions, wanted are 3" in planned.out
    assert tocsin("topics", "apply", "--partitions", "3").code == 1
    assert tocsin("topics", "check").code == 0


@pytest.mark.usefixtures("_cluster")
def test_pools_have_topics_of_their_own(tocsin: Tocsin, prefix: str) -> None:
    tocsin("topics", "apply", "--partitions", "1", "--replication", "1", "--pool", "gpu")
    assert tocsin("topics", "check", "--pool", "gpu").code == 0
    other = tocsin("topics", "check", "--pool", "other")
    assert other.code == 1
    assert f"{prefix}.runs.other.high is missing" in other.out


@pytest.mark.usefixtures("_cluster")
def test_too_few_brokers_are_told_with_the_way_out(tocsin: Tocsin) -> None:
    said = tocsin("topics", "apply", "--replication", "9")
    assert said.code == 2
    assert said.err.endswith(": try --replication 1\n")


def test_an_unreachable_broker_is_told_in_a_sentence(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOCSIN_BROKERS", "127.0.0.1:1")
    said = tocsin("topics", "check")
    assert said.code == 3
    assert "check that the brokers are up" in said.err


def test_a_background_broker_is_started_once_and_stopped(tocsin: Tocsin, folder: Path) -> None:
    at = ("--data", str(folder / "kafka"))
    started = tocsin("broker", "start", *at, "--port", str(free_port()))
    try:
        assert started.code == 0
        assert started.out.startswith("export TOCSIN_BROKERS=127.0.0.1:")
        assert tocsin("broker", "start", *at).out == started.out
    finally:
        stopped = tocsin("broker", "stop", *at)
    assert stopped.code == 0
    assert tocsin("broker", "stop", *at).code == 1
