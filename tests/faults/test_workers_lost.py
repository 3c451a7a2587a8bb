"""Workers that go in the middle of runs of ten seconds: killed, told to stop, told to hurry."""

from collections import Counter

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.target import target
from tocsin import clock

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

TAKES_S = 10
CALLS, SLOTS = 24, 8
LEASE, LEASE_MS = "6s", 6_000
WORKERS = {"killed": "60s", "leaving": "60s", "hurried": "1s"}
"""With their graces."""

ENDS = ("succeeded", "failed")
LEADING_ON = ("lease_expired", "retry_scheduled")


def test_b080_b118_what_they_had_is_taken_up_by_another_and_each_run_has_one_chain(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    crew.scheduler("a")
    workers = {
        name: crew.worker(name, NODE_ID=name, LEASE=LEASE, SLOTS=str(SLOTS), GRACE=grace)
        for name, grace in WORKERS.items()
    }
    for worker in workers.values():
        worker.until_ready()
    with target(TAKES_S) as site:
        installation.put(installation.calls(CALLS, site.url))
        ledger.until(lambda: all(map(ledger.held_by, WORKERS)), "each is in the middle of some")
        workers["killed"].kill()
        for name in ("leaving", "hurried"):
            workers[name].terminate()
        crew.worker("staying", NODE_ID="staying", LEASE=LEASE, SLOTS=str(CALLS))
        assert [workers[name].exit_code() for name in ("leaving", "hurried")] == [0, 0]
        ledger.until(lambda: len(ledger.succeeded) == CALLS, "all runs have succeeded")
    judge(installation, ledger, clock.now_ms())
    assert one_chain_each(ledger)
    assert ends(ledger, "leaving") == Counter(succeeded=len(ledger.claimed_by("leaving")))
    assert ends(ledger, "hurried") == Counter(interrupted=len(ledger.claimed_by("hurried")))
    lost = {event.run_id or "" for event in ledger.events if event.type == "lease_expired"}
    assert lost
    assert lost <= ledger.claimed_by("killed")
    for run_id in lost:
        last_word = max(time for time, name, _ in words(ledger, run_id) if name == "killed")
        taken_up = min(time for time, _, attempt in words(ledger, run_id) if attempt == 2)
        assert taken_up >= last_word + LEASE_MS, run_id


def one_chain_each(ledger: Ledger) -> bool:
    """Whether no attempt has ended twice, one succeeded, and each other led on to one more."""
    ended = Counter((o.run_id, o.attempt) for o in ledger.outcomes if o.kind in ENDS)
    succeeded = Counter(o.run_id for o in ledger.outcomes if o.kind == "succeeded")
    led_on = Counter(event.run_id for event in ledger.events if event.type in LEADING_ON)
    assert set(ended.values()) == {1}
    assert set(succeeded.values()) == {1}
    return all(max(numbers) == 1 + led_on[run] for run, numbers in ledger.attempts.items())


def ends(ledger: Ledger, name: str) -> Counter[str]:
    """How the attempts have ended that a worker has begun: by the code of the error, if any."""
    told = (o for o in ledger.outcomes if o.kind in ENDS and o.worker.startswith(f"{name}-"))
    return Counter(o.kind if o.error is None else o.error.code for o in told)


def words(ledger: Ledger, run_id: str) -> list[tuple[int, str, int]]:
    """What workers have said of a run: when, which of them, and of which attempt."""
    said = (outcome for outcome in ledger.outcomes if outcome.run_id == run_id)
    return [(o.time, o.worker.rpartition("-")[0], o.attempt) for o in said]
