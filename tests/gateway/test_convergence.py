"""The topics have no mutual order: whatever the interleaving, the history is the same."""

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gateway.fake_scheduler import outcome_of, whole_run
from tocsin.broker.port import Record
from tocsin.model.events import Event, EventType
from tocsin.model.jobs import Handler, Job
from tocsin.model.runs import UNSIGNED, Dead, Error, OutcomeKind, Run
from tocsin.timetable import ScheduleFields
from tocsin_gateway.projection.attempts import Attempt
from tocsin_gateway.projection.history import RunRow
from tocsin_gateway.projection.run_fold import HistoryFact, RunFold

JOB = Job(
    tenant="default",
    job_id="a",
    schedule=ScheduleFields(cron="* * * * *"),
    handler=Handler(type="noop"),
)
NOON = 1_767_268_800_000
KINDS: tuple[OutcomeKind, ...] = (
    "started",
    "deferred",
    "succeeded",
    "failed",
    "cancelled",
    "expired",
    "declined",
)
DECISIONS: tuple[EventType, ...] = (
    "retry_scheduled",
    "lease_expired",
    "expired",
    "cancelled",
    "dead",
)
NOT_RUN: tuple[EventType, ...] = ("skipped", "missed", "cancelled")

numbers = st.integers(1, 3)
streams = st.tuples(
    st.lists(st.builds(lambda n, late: emission(n, late), numbers, st.integers(0, 9)), max_size=4),
    st.lists(
        st.builds(
            lambda n, kind, worker, late: report(n, kind, worker, late),
            numbers,
            st.sampled_from(KINDS),
            st.sampled_from(["w1", "w2", UNSIGNED]),
            st.integers(0, 99),
        ),
        max_size=6,
    ),
    st.lists(
        st.builds(
            lambda n, kind, late: decision(n, kind, late),
            numbers,
            st.sampled_from(DECISIONS),
            st.integers(0, 99),
        )
        | st.builds(lambda kind: decision(None, kind, 0), st.sampled_from(NOT_RUN)),
        max_size=4,
    ),
    st.lists(st.builds(lambda n: dead(n), numbers), max_size=1),
)


def emission(number: int, late: int) -> Run:
    run = whole_run(JOB, number, NOON, attempt=number)
    return msgspec.structs.replace(run, emitted_time=NOON + 100 * number + late)


def report(number: int, kind: OutcomeKind, worker: str, late: int) -> HistoryFact:
    error = Error(code="exception", message=f"{worker} {late}") if kind == "failed" else None
    outcome = outcome_of(emission(number, 0), kind, error, worker=worker)
    return msgspec.structs.replace(outcome, time=outcome.time + late)


def decision(number: int | None, kind: EventType, late: int) -> HistoryFact:
    return Event(
        tenant="default",
        job_id="a",
        type=kind,
        time=NOON + 50 + late,
        reason=f"{kind} {late}",
        run_id=emission(1, 0).run_id,
        scheduled_time=NOON,
        attempt=number,
        retry_time=NOON + 1_000 + late if kind == "retry_scheduled" else None,
    )


def dead(number: int) -> HistoryFact:
    run = emission(number, 0)
    return Dead(run=run, outcome=outcome_of(run, "failed"), attempts=number)


def folded(facts: Sequence[HistoryFact]) -> tuple[list[RunRow], list[Attempt]]:
    fold = RunFold()
    for offset, fact in enumerate(facts):
        fold.fold(Record("events", 0, offset, NOON, b"default/a", b"", []), fact)
    attempts = sorted(fold.attempts.items())
    return list(fold.runs.values()), [attempt for _, attempt in attempts]


@st.composite
def interleavings(draw: st.DrawFn) -> tuple[list[HistoryFact], list[HistoryFact]]:
    """Two orders of the same records. Outcomes, events and dead letters of a job each share a
    partition and keep their order; attempts in the run topics share none."""
    emissions, *ordered = draw(streams)
    orders: list[list[HistoryFact]] = []
    for _ in range(2):
        queues = [[run] for run in emissions] + [list(stream) for stream in ordered]
        order = []
        while any(queues):
            queue = draw(st.sampled_from([queue for queue in queues if queue]))
            order.append(queue.pop(0))
        orders.append(order)
    return orders[0], orders[1]


@settings(max_examples=400, deadline=None)
@given(interleavings())
def test_every_interleaving_gives_the_same_history(
    orders: tuple[list[HistoryFact], list[HistoryFact]],
) -> None:
    one, other = orders

    assert folded(one) == folded(other)


@pytest.mark.parametrize("kind", ["cancelled", "expired"])
def test_what_no_worker_has_signed_is_left_to_the_event(kind: OutcomeKind) -> None:
    facts = [emission(1, 0), report(1, "started", "w1", 0), decision(1, "cancelled", 5)]
    assert folded([*facts, report(1, kind, UNSIGNED, 50)]) == folded(facts)


@settings(max_examples=200, deadline=None)
@given(interleavings())
def test_a_success_is_final(orders: tuple[list[HistoryFact], list[HistoryFact]]) -> None:
    facts, _ = orders
    succeeded = any(getattr(fact, "kind", None) == "succeeded" for fact in facts)
    rows, _ = folded(facts)

    assert [row.status == "succeeded" for row in rows] == [succeeded] * len(rows)
