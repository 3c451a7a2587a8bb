"""`kill -9` of a worker with runs in flight."""

from collections import Counter

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.target import target
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

LONG, SHORT, WAITING = 20, 10, 10
LEASE = "10s"


def test_each_run_succeeds_in_the_end_and_only_claimed_ones_count_another_attempt(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    """At the kill some runs are claimed, some execute since a moment ago, some wait for a slot."""
    crew.scheduler("a")
    victim = crew.worker("victim", NODE_ID="victim", LEASE=LEASE, SLOTS=str(LONG + SHORT))
    with target() as site:
        installation.put(installation.calls(LONG, site.url))
        ledger.until(lambda: len(ledger.held_by("victim")) == LONG, "the long runs are held")
        installation.put(installation.calls(SHORT + WAITING, site.url))
        ledger.until(lambda: len(site.asked) > LONG, "short runs execute")
        victim.kill()
        site.let_go()
        crew.worker("survivor", NODE_ID="survivor")
        total = LONG + SHORT + WAITING
        ledger.until(lambda: len(ledger.succeeded) == total, "all runs have succeeded")
    judge(installation, ledger, clock.now_ms())
    claimed = ledger.claimed_by("victim")
    assert LONG <= len(claimed) <= LONG + SHORT
    for run_id, attempts in ledger.attempts.items():
        assert attempts == (Counter([1, 2]) if run_id in claimed else Counter([1])), run_id
    expired = Counter(event.run_id for event in ledger.events if event.type == "lease_expired")
    assert expired == Counter(claimed)
