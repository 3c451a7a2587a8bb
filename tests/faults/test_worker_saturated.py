"""Three workers, one with all its slots held for ever: no run waits for it."""

import pytest

from tests.faults.crew import Crew
from tests.faults.installation import PARTITIONS, Installation
from tests.faults.ledger import Ledger
from tests.faults.target import target
from tocsin import clock
from tocsin_scheduler.core.placing import CHUNK

pytestmark = [pytest.mark.faults, pytest.mark.kafka, pytest.mark.timeout(600)]

SLOTS, TICKING, SECONDS = 8, 60, 10
QUEUED = 2 * CHUNK * PARTITIONS
HANDED_ON_MS, SLACK_MS = 5_000, 5_000
"""Within the one a run that a full worker has is somewhere else; a busy machine may add the
other."""


def test_runs_behind_a_full_worker_are_handed_on_and_new_ones_go_elsewhere(
    crew: Crew, installation: Installation, ledger: Ledger
) -> None:
    crew.scheduler("a")
    with target() as site:
        full = crew.worker("full", NODE_ID="full", SLOTS=str(SLOTS))
        installation.put(installation.calls(SLOTS, site.url))
        ledger.until(lambda: len(ledger.claimed_by("full")) == SLOTS, "all slots are taken")
        held = ledger.claimed_by("full")
        installation.put(installation.one_offs(QUEUED))
        ledger.until(lambda: len(ledger.attempts) == SLOTS + QUEUED, "runs queue in all partitions")
        others = [crew.worker(name, NODE_ID=name, SLOTS=str(SLOTS)) for name in ("b", "c")]
        for worker in others:
            worker.until_ready()
        there = clock.now_ms()
        ledger.until(lambda: len(ledger.succeeded) == QUEUED, "those are handed on")
        begin = clock.now_ms()
        installation.put(installation.every_second(TICKING, "allow_all"))
        total = QUEUED + TICKING * SECONDS
        ledger.until(lambda: len(ledger.succeeded) >= total, "new ones run")
        full.kill()
    ended = {o.run_id: o.time for o in ledger.outcomes if o.kind == "succeeded"}
    assert not held & ended.keys()
    assert max(time for time in ended.values() if time < begin) - there <= HANDED_ON_MS + SLACK_MS
    due = {run.run_id: run.due_time for run, _ in ledger.emitted}
    waits = sorted(time - due[run_id] for run_id, time in ended.items() if time >= begin)
    assert waits[len(waits) * 99 // 100] <= 1_000 + SLACK_MS
    assert all(set(numbers) == {1} for numbers in ledger.attempts.values()), "no attempt is lost"
    declined = [o for o in ledger.outcomes if o.kind == "declined"]
    assert declined
    assert {outcome.worker.rpartition("-")[0] for outcome in declined} == {"full"}
    assert not [o for o in declined if o.time > begin + SLACK_MS], "it gets nothing new"
