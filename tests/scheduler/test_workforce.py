"""How many runs the workers could take, by what they and their outcomes say."""

import msgspec

from tocsin.model.runs import Error, Outcome, OutcomeKind, Worker
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.placing import Share
from tocsin_scheduler.core.workforce import FRESH_MS, WorkerNews, Workforce

TOPICS = Topics("t")
NORMAL = TOPICS.runs("normal")
NOW = 1_790_000_000_000


def a_report(worker: str, *places: str, **fields: object) -> Worker:
    report = Worker(
        worker=worker,
        pool="default",
        handlers=["noop"],
        slots=8,
        free=8,
        partitions=list(places),
        time=NOW,
    )
    return msgspec.structs.replace(report, **fields)


def news(worker: str, *kinds: OutcomeKind, error: Error | None = None) -> WorkerNews:
    found = WorkerNews()
    for kind in kinds:
        found.note(
            Outcome(
                run_id="r",
                tenant="t",
                job_id="j",
                attempt=1,
                kind=kind,
                worker=worker,
                time=NOW,
                error=error,
            )
        )
    return found


def workforce(*reports: Worker) -> Workforce:
    known = Workforce(TOPICS)
    for report in reports:
        known.heard(report, NOW)
    return known


def shares(known: Workforce, topic: str = NORMAL, partitions: int = 4) -> list[Share]:
    return list(known.shares({topic: partitions})[topic])


def test_free_slots_are_room_on_the_partitions_that_the_worker_reads() -> None:
    known = workforce(
        a_report("a", "normal:0", "normal:2", "high:1", free=5), a_report("b", "normal:1")
    )
    assert shares(known) == [Share("a", [0, 2], 5), Share("b", [1], 8)]
    assert shares(known, TOPICS.runs("high")) == [Share("a", [1], 5)]


def test_pools_are_apart() -> None:
    known = workforce(a_report("a", "normal:0", pool="gpu"))
    assert shares(known) == []
    assert shares(known, TOPICS.runs("normal", "gpu")) == [Share("a", [0], 8)]


def test_a_worker_with_all_slots_busy_has_no_room() -> None:
    assert shares(workforce(a_report("a", "normal:0", free=0))) == []


def test_one_whose_slots_are_taken_again_as_fast_as_they_are_free_has_as_much_as_ended() -> None:
    known = workforce(a_report("a", "normal:0", free=0))
    assert known.learn(news("a", "succeeded", "failed", "started", "heartbeat"))
    assert shares(known) == [Share("a", [0], 2)]
    known.heard(a_report("a", "normal:0", free=1), NOW + 2_000)
    assert shares(known) == [Share("a", [0], 3)]
    for _ in range(100):
        known.learn(news("a", "succeeded"))
    assert shares(known) == [Share("a", [0], 8)], "never more than there are slots"


def test_what_ended_before_the_last_two_reports_says_nothing() -> None:
    known = workforce(a_report("a", "normal:0", free=0))
    known.learn(news("a", "succeeded"))
    for seconds in (2, 4):
        known.heard(a_report("a", "normal:0", free=0), NOW + seconds * 1_000)
    assert shares(known) == []


def test_who_sends_runs_away_for_a_limit_of_theirs_has_room_for_others() -> None:
    known = workforce(a_report("a", "normal:0"))
    saturated = Error(code="saturated", message="host x", retry_after_ms=1_000)
    assert not known.learn(news("a", "declined", error=saturated))
    assert shares(known) != []


def test_who_hands_runs_back_has_no_room_until_it_reports_again() -> None:
    known = workforce(a_report("a", "normal:0"))
    assert known.learn(news("a", "declined", "succeeded"))
    assert shares(known) == []
    known.heard(a_report("a", "normal:0"), NOW + 2_000)
    assert shares(known) != []


def test_a_partition_that_two_claim_belongs_to_the_later_report() -> None:
    known = workforce(a_report("a", "normal:0", time=NOW + 1), a_report("b", "normal:0"))
    assert shares(known) == [Share("a", [0], 8)]


def test_old_reports_and_workers_that_have_gone_count_no_more() -> None:
    known = workforce(a_report("a", "normal:0"), a_report("b", "normal:1"))
    known.gone("b")
    assert shares(known) == [Share("a", [0], 8)]
    assert not known.forget(NOW + FRESH_MS - 1)
    assert known.forget(NOW + FRESH_MS)
    assert shares(known) == []


def test_places_that_do_not_exist_are_left_out() -> None:
    known = workforce(a_report("a", "normal:4", "normal:-1", "urgent:0", "normal", "normal:1"))
    assert shares(known, partitions=4) == [Share("a", [1], 8)]
