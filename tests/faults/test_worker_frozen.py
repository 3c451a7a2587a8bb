"""SIGSTOP of a worker for longer than its lease and its session; a restart of everything."""

from collections import Counter

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.target import target
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

LEASE = "6s"


def failed_by(ledger: Ledger, node: str) -> list[str]:
    failed = (o for o in ledger.outcomes if o.kind == "failed" and o.worker.startswith(f"{node}-"))
    return [outcome.error.code for outcome in failed if outcome.error is not None]


def test_b082_what_a_frozen_worker_says_late_starts_no_second_chain_and_b083_it_works_on(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    crew.scheduler("a")
    frozen = crew.worker("frozen", NODE_ID="frozen", LEASE=LEASE)
    with target() as site:
        installation.put(installation.calls(4, site.url))
        ledger.until(lambda: len(ledger.held_by("frozen")) == 4, "all are held")
        frozen.freeze()
        other = crew.worker("other", NODE_ID="other", LEASE=LEASE)
        ledger.until(
            lambda: len(ledger.claimed_by("other", attempt=2)) == 4, "another has taken them over"
        )
        frozen.wake()
        ledger.until(lambda: len(failed_by(ledger, "frozen")) == 4, "it notices what it has lost")
        site.let_go()
        ledger.until(lambda: len(ledger.succeeded) == 4, "the others' attempts succeed")
    other.terminate()
    assert other.exit_code() == 0
    installation.put(installation.one_offs(20))
    ledger.until(lambda: len(ledger.succeeded) == 24, "the one that was frozen works on alone")
    judge(installation, ledger, clock.now_ms())
    assert set(failed_by(ledger, "frozen")) <= {"lease_expired", "interrupted"}
    taken_over = [ledger.attempts[run_id] for run_id in ledger.claimed_by("other")]
    assert taken_over == [Counter([1, 2])] * 4
    assert not [event for event in ledger.events if event.type in ("dead", "retry_scheduled")]


def test_b118_runs_outlive_the_kill_of_everything(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    """By their leases, as the next attempt; or read again, as the same, where the offset of a
    claimed run had not been committed."""
    scheduler = crew.scheduler("a", NODE_ID="a")
    worker = crew.worker("before", NODE_ID="before", LEASE=LEASE)
    with target() as site:
        installation.put(installation.calls(6, site.url))
        ledger.until(lambda: len(ledger.claimed_by("before")) == 6, "all are claimed")
        for service in (scheduler, worker):
            service.kill()
        site.let_go()
        crew.scheduler("a", NODE_ID="a")
        crew.worker("after", NODE_ID="after", LEASE=LEASE)
        ledger.until(lambda: len(ledger.succeeded) == 6, "all have succeeded")
    judge(installation, ledger, clock.now_ms())
    expired = Counter(event.run_id for event in ledger.events if event.type == "lease_expired")
    for run_id, attempts in ledger.attempts.items():
        assert attempts == (Counter([1, 2]) if expired[run_id] else Counter([1])), run_id
