"""The broker of a worker goes away and comes back."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.target import target
from tocsin import clock
from tocsin.broker.local import LocalBroker
from tocsin_worker.node import Exit

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

CALLS = 4
GRACE, GRACE_MS, SLACK_MS = "5s", 5_000, 15_000
"""Beside the grace it may take what it takes to give up the clients; a busy machine adds to it."""


@pytest.fixture
def bootstrap(own_broker: LocalBroker) -> str:
    return own_broker.bootstrap


@pytest.mark.parametrize("ends_in_time", [True, False])
def test_b156_a_worker_without_a_broker_ends_within_its_grace_and_another_has_its_runs(
    own_broker: LocalBroker,
    crew: Crew,
    installation: Installation,
    ledger: Ledger,
    ends_in_time: bool,
) -> None:
    """What its handlers have done meanwhile nobody hears, and its exit code says so."""
    crew.scheduler("a")
    worker = crew.worker("w", NODE_ID="w", GRACE=GRACE, LEASE="10s")
    with target() as site:
        installation.put(installation.calls(CALLS, site.url))
        ledger.until(lambda: len(ledger.claimed_by("w")) == CALLS, "all are claimed")
        own_broker.kill()
        if ends_in_time:
            site.let_go()
        worker.terminate()
        told = clock.monotonic_ms()
        assert worker.exit_code() == Exit.UNREPORTED
        assert clock.monotonic_ms() - told <= GRACE_MS + SLACK_MS
        site.let_go()
        own_broker.restart()
        crew.worker("other", NODE_ID="other")
        ledger.until(lambda: len(ledger.succeeded) == CALLS, "all runs have succeeded")
    judge(installation, ledger, clock.now_ms())


def test_b156_a_worker_that_has_nothing_to_report_ends_without_a_broker(
    own_broker: LocalBroker, crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    worker = crew.worker("w", GRACE=GRACE)
    worker.until_ready()
    own_broker.kill()
    worker.terminate()
    told = clock.monotonic_ms()
    assert worker.exit_code() == Exit.DONE
    assert clock.monotonic_ms() - told <= GRACE_MS + SLACK_MS
