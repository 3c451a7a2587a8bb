"""SIGTERM: what a scheduler or a worker has is handed over, and its exit code is 0."""

from collections import Counter

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, REQUEST_S, Installation
from tests.faults.judging import judge
from tests.faults.ledger import Ledger
from tests.faults.target import target
from tocsin import clock
from tocsin_cli.marks import committed_marks

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

AT_ONCE_MS = 5_000
"""Less than the 6 s after which a member that says nothing is put out of the group."""

CALLS, SLOTS = 30, 10


def test_another_scheduler_takes_over_at_once(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    leaving, other = crew.scheduler("a"), crew.scheduler("b")
    installation.put(installation.load())
    partitions = leaving.until_owning(PARTITIONS // 2)
    other.until_owning(PARTITIONS // 2)
    ledger.until_fired(partitions, clock.now_ms())
    leaving.terminate()
    assert leaving.exit_code() == 0
    left_at = clock.now_ms()
    other.until_owning(PARTITIONS)
    assert other.takeover_ms(partitions) - left_at < AT_ONCE_MS
    ledger.until_fired(partitions, left_at)
    judge(installation, ledger, clock.now_ms())


def test_a_scheduler_leaves_nothing_to_fence(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    scheduler = crew.scheduler("a", NODE_ID="a")
    installation.put(installation.load())
    partitions = scheduler.until_owning(PARTITIONS)
    ledger.until_fired(partitions, clock.now_ms())
    scheduler.terminate()
    assert scheduler.exit_code() == 0
    assert installation.open_transactions(partitions) == {}
    marks = committed_marks(installation.cluster, installation.topics, PARTITIONS, REQUEST_S)
    assert {marks[partition].owner for partition in partitions} == {None}
    crew.scheduler("a", NODE_ID="a")
    judge(installation, ledger, clock.now_ms())


def test_another_worker_takes_what_has_not_begun(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    """What has begun ends where it began; no attempt is wasted."""
    crew.scheduler("a")
    leaving = crew.worker("leaving", NODE_ID="leaving", SLOTS=str(SLOTS))
    with target() as site:
        installation.put(installation.calls(CALLS, site.url))
        ledger.until(lambda: len(ledger.claimed_by("leaving")) == SLOTS, "all slots are taken")
        leaving.terminate()
        crew.worker("other").until_ready()
        site.let_go()
        assert leaving.exit_code() == 0
        ledger.until(lambda: len(ledger.succeeded) == CALLS, "all runs have succeeded")
    judge(installation, ledger, clock.now_ms())
    assert site.asked == Counter(ledger.attempts.keys())
    assert {attempt for attempts in ledger.attempts.values() for attempt in attempts} == {1}


def test_a_worker_whose_handler_lets_go_of_nothing_ends_when_told_twice(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    crew.scheduler("a")
    worker = crew.stubborn_worker("stubborn", NODE_ID="stubborn", GRACE="1h")
    installation.put([installation.stubborn()])
    ledger.until(lambda: bool(ledger.claimed_by("stubborn")), "the run is claimed")
    worker.terminate()
    worker.until(lambda: worker.page("/healthz/ready") is None, "has heard it")
    worker.terminate()
    assert worker.exit_code() == 0
    assert worker.logged("handler_abandoned")
    assert worker.logged("tasks_abandoned")
