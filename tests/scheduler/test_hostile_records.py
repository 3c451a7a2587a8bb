"""Records that can be decoded and still say what cannot be: refused, never fatal; and jobs that are
many or large at one instant."""

import msgspec
import pytest

from tests.scheduler.outcomes import outcome_of
from tests.scheduler.situations.scene import MINUTE, document, reasons, signal, world_with
from tests.scheduler.world import EPOCH, TOPICS, World
from tocsin.model.runs import Dead, Outcome, Run, Worker
from tocsin.wire.codec import RUN_STATE
from tocsin_scheduler.core.partition import Source
from tocsin_scheduler.core.turn import Budget
from tocsin_scheduler.core.workforce import Workforce

HUGE = 2**63 - 1
OTHER = "default.other.20260921T141400.000Z"

OUTCOMES: dict[str, dict[str, object]] = {
    "a lease without end": {"lease_ms": HUGE},
    "a start beyond all time": {"started_time": HUGE},
    "an attempt beyond all": {"attempt": 2**31 - 1},
    "no attempt": {"attempt": 0},
    "a run of another job": {"run_id": OTHER},
}
RUNS: dict[str, dict[str, object]] = {
    "a time-out without end": {"timeout_ms": HUGE},
    "due beyond all time": {"due_time": HUGE},
    "emitted before all time": {"emitted_time": -HUGE},
    "another attempt": {"attempt": 7},
    "another job": {"job_id": "other", "run_id": OTHER},
}


def running() -> tuple[World, Run]:
    world = world_with(overlap="skip")
    world.run_until(EPOCH + 40_000)
    return world, world.log.runs[0]


def refuses(world: World, outcome: Outcome) -> bool:
    """It is told with its place, and changes nothing."""
    record = world.say(outcome)
    partition = world.partition
    partition.begin(world.now, world.now, Budget())
    partition.apply(Source.OUTCOMES, record._replace(key=b"default/a"))
    told = [problem.offset for problem in partition.turn.problems] == [record.offset]
    return told and not partition.prepared()


@pytest.mark.parametrize("kind", ["started", "succeeded", "deferred"])
@pytest.mark.parametrize("what", OUTCOMES)
def test_an_outcome_that_cannot_be_is_refused(what: str, kind: str) -> None:
    world, run = running()
    outcome = outcome_of(run, kind, world.now)
    assert refuses(world, msgspec.structs.replace(outcome, **OUTCOMES[what]))


@pytest.mark.parametrize("kind", ["started", "deferred", "failed", "declined"])
@pytest.mark.parametrize("what", RUNS)
def test_an_outcome_with_a_run_that_cannot_be_is_refused(what: str, kind: str) -> None:
    world, run = running()
    outcome = outcome_of(run, kind, world.now)
    wrong = msgspec.structs.replace(run, **RUNS[what])
    assert refuses(world, msgspec.structs.replace(outcome, run=wrong))


@pytest.mark.parametrize("what", ["a time-out without end", "due beyond all time", "attempts"])
def test_a_redrive_of_a_run_that_cannot_be_is_refused(what: str) -> None:
    world, run = running()
    wrong = msgspec.structs.replace(run, **RUNS.get(what, {}))
    failed = outcome_of(run, "failed", world.now)
    attempts = 2**31 - 1 if what == "attempts" else 5
    dead = Dead(run=wrong, outcome=failed, attempts=attempts)
    signal(world, "redrive", dead=msgspec.to_builtins(dead, builtin_types=(bytes,)))
    world.turn()
    assert len(world.log.runs) == 1
    assert len(reasons(world, "rejected")) == 1


def test_a_partition_beyond_all_numbers_is_left_out_of_a_report() -> None:
    workforce = Workforce(TOPICS)
    report = Worker(
        worker="w",
        pool="default",
        handlers=["noop"],
        slots=8,
        free=8,
        partitions=["high:" + "1" * 5_000, "high:0"],
        time=EPOCH,
    )
    workforce.heard(report, EPOCH)
    (share,) = workforce.shares({TOPICS.runs("high"): 2})[TOPICS.runs("high")]
    assert list(share.partitions) == [0]


def test_what_waits_in_the_state_counts_towards_the_size_of_a_transaction() -> None:
    """Each job has a run that goes on; the next is held whole, with its payload."""
    world, payload = World(), "x" * 200_000
    for number in range(100):
        world.put(f"default/j{number}", document(overlap="buffer_one", payload=payload))
        world.turn()
    world.run_until(EPOCH + 40_000)
    before = len(world.log.state)
    world.now = EPOCH + 40_000 + MINUTE
    assert world.turn()
    held = [RUN_STATE.decode(value) for _, value in world.log.state[before:] if value]
    size = sum(len(value or b"") for _, value in world.log.state[before:])
    assert 0 < len(held) < 100
    assert size < 9 * 1024 * 1024
    while world.turn():
        pass
    assert sum(value is not None for _, value in world.log.state[before:]) >= 100
