"""One priority: what may be taken, and which offsets are committed when."""

import asyncio
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.worker.support import NOW, TOPICS, a_run
from tocsin.broker.port import Record
from tocsin.wire import codec
from tocsin_worker.intake.lane import COMMIT_BEHIND, Lane
from tocsin_worker.intake.mailbox import Offsets
from tocsin_worker.intake.partition import WINDOW, Delivery, RunsPartition

TOPIC = TOPICS.runs("normal")


class Commits:
    """Commits that are asked for, and done when the test says so."""

    def __init__(self) -> None:
        self.asked: dict[int, int] = {}
        self.requests = 0

    def commit(self, offsets: Offsets) -> None:
        self.requests += 1
        self.asked.update(offsets)

    def done(self, lane: Lane) -> None:
        asked, self.asked = self.asked, {}
        lane.committed(asked)


def record(offset: int, partition: int = 0, value: bytes | None = None) -> Record:
    run = a_run(f"job-{partition}-{offset}")
    return Record(TOPIC, partition, offset, NOW, b"k", value or codec.RUN.encode(run), [])


def a_lane(partitions: int = 1, end: int | None = 0) -> tuple[Lane, Commits, list[str]]:
    """With everything written after the assignment, unless `end` says otherwise."""
    commits, refused = Commits(), list[str]()
    lane = Lane("normal", commits, refused.append)
    lane.assigned(dict.fromkeys(range(partitions), end))
    return lane, commits, refused


def take(lane: Lane) -> Delivery:
    delivery = lane.next()
    lane.started(delivery)
    return delivery


def take_all(lane: Lane) -> list[Delivery]:
    return [take(lane) for _ in range(lane.takeable)]


def test_it_holds_what_is_assigned_until_it_is_dropped() -> None:
    lane, _, _ = a_lane(2)
    assert lane.places == ["normal:0", "normal:1"]
    lane.received([record(0, 0), record(0, 1)])
    lane.dropped([0])
    assert lane.places == ["normal:1"]
    assert [d.run.job_id for d in take_all(lane)] == ["job-1-0"]


def test_a_few_offsets_wait_for_the_next_round_of_commits() -> None:
    lane, commits, _ = a_lane()
    lane.received([record(0), record(1)])
    for delivery in take_all(lane):
        lane.passed(delivery)
    assert commits.asked == {}
    lane.commit_all()
    assert commits.asked == {0: 2}


def test_many_are_committed_at_once_for_all_partitions_in_one_request() -> None:
    lane, commits, _ = a_lane(2)
    lane.received([record(offset) for offset in range(COMMIT_BEHIND)] + [record(0, 1)])
    for delivery in sorted(take_all(lane), key=lambda d: -d.partition.place.partition):
        lane.passed(delivery)
    assert commits.asked == {0: COMMIT_BEHIND, 1: 1}
    assert commits.requests == 1


def test_only_one_request_is_under_way_at_a_time() -> None:
    lane, commits, _ = a_lane()
    lane.received([record(offset) for offset in range(3 * COMMIT_BEHIND)])
    for delivery in take_all(lane):
        lane.passed(delivery)
    assert (commits.requests, commits.asked) == (1, {0: COMMIT_BEHIND})
    commits.done(lane)
    assert commits.asked == {0: 3 * COMMIT_BEHIND}


def test_an_undecodable_record_is_refused_and_passes() -> None:
    lane, commits, refused = a_lane()
    lane.received([record(0, value=b"garbage"), record(1)])
    assert refused == [TOPIC]
    assert [d.offset for d in take_all(lane)] == [1]
    lane.commit_all()
    assert commits.asked == {0: 1}


def test_a_claimed_redelivery_waits_for_its_commit() -> None:
    lane, commits, _ = a_lane(end=None)
    called: list[int] = []
    lane.received([record(0), record(1)])
    first = take(lane)
    second = take(lane)
    lane.passed(second)
    lane.when_committed(second, lambda: called.append(1))
    assert commits.asked == {}, "the first has not passed"
    lane.passed(first)
    assert commits.asked == {0: 2}
    commits.done(lane)
    assert called == [1]
    lane.when_committed(first, lambda: called.append(0))
    assert called == [1, 0], "it is committed already"


def test_whoever_waits_for_a_commit_of_a_partition_that_goes_is_told() -> None:
    lane, _, _ = a_lane(end=None)
    called: list[str] = []
    lane.received([record(0)])
    delivery = take(lane)
    lane.passed(delivery)
    lane.when_committed(delivery, lambda: called.append("told"))
    lane.dropped([0])
    assert called == ["told"]
    lane.passed(delivery)


def test_what_is_left_of_an_old_assignment_does_not_touch_the_new_one() -> None:
    lane, commits, _ = a_lane()
    lane.received([record(0)])
    old = take(lane)
    lane.dropped([0])
    lane.assigned({0: 0})
    lane.received([record(0)])
    lane.passed(old)
    lane.commit_all()
    assert commits.asked == {}


def test_draining_ends_when_all_have_passed_or_the_partition_has_gone() -> None:
    async def main() -> None:
        lane, _, _ = a_lane(2)
        lane.received([record(0), record(1), record(0, 1)])
        deliveries = take_all(lane)
        (first, second) = (d for d in deliveries if d.partition.place.partition == 0)
        (other,) = (d for d in deliveries if d.partition.place.partition == 1)
        assert isinstance(first.partition, RunsPartition)
        assert isinstance(other.partition, RunsPartition)
        passing = asyncio.ensure_future(lane.drained(first.partition, 1))
        going = asyncio.ensure_future(lane.drained(other.partition, 0))
        lane.passed(second)
        await asyncio.sleep(0)
        assert not passing.done()
        lane.passed(first)
        await passing
        assert not going.done()
        lane.dropped([1])
        await going

    asyncio.run(main())


Step = tuple[str, int]


@settings(max_examples=200)
@given(
    st.integers(0, 2 * WINDOW),
    st.lists(
        st.tuples(st.sampled_from(["read", "take", "pass", "commit", "round"]), st.integers(0, 99)),
        max_size=120,
    ),
)
def test_every_run_is_taken_once_and_nothing_is_committed_before_it_has_passed(
    end: int, steps: list[Step]
) -> None:
    lane, commits, _ = a_lane(2, end)
    read = {0: 0, 1: 0}
    taken: list[Delivery] = []
    running: list[Delivery] = []
    passed: dict[int, set[int]] = {0: set(), 1: set()}

    def step(kind: str, number: int) -> None:
        if kind == "read":
            partition = number % 2
            size = number + 1
            lane.received(record(read[partition] + n, partition) for n in range(size))
            read[partition] += size
        elif kind == "take":
            for _ in range(min(number, lane.takeable)):
                taken.append(take(lane))
                running.append(taken[-1])
        elif kind == "pass" and running:
            delivery = running.pop(number % len(running))
            passed[delivery.partition.place.partition].add(delivery.offset)
            lane.passed(delivery)
        elif kind == "commit":
            commits.done(lane)
        elif kind == "round":
            lane.commit_all()

    def check() -> None:
        for partition, offset in commits.asked.items():
            assert passed[partition] >= set(range(offset))

    _play(steps, step, check)
    while lane.unstarted or running or commits.asked:
        for kind in ("take", "pass", "round", "commit"):
            step(kind, 99)
            check()
    places = [(d.partition.place.partition, d.offset) for d in taken]
    assert sorted(places) == [(p, o) for p in (0, 1) for o in range(read[p])]


def _play(steps: list[Step], step: Callable[[str, int], None], check: Callable[[], None]) -> None:
    for kind, number in steps:
        step(kind, number)
        check()
