"""Limits for each handler and each host: kept, and never in the way of what they do not concern."""

import asyncio
import gc
import json
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.worker.shared_cluster import at_once, shared
from tests.worker.support import a_run, let_run, memory_cluster, outcomes
from tests.worker.test_node import Gate, Gauges, emit, fresh_run, until, worker_options
from tocsin.model.jobs import Handler
from tocsin.model.runs import Run
from tocsin.testing import MemoryCluster, SettableClock
from tocsin_worker.concurrency import HOLD_MS, Concurrency, ConcurrencyLimits
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.intake.partition import WINDOW, Delivery, Place, RunsPartition
from tocsin_worker.node import Exit, WorkerNode
from tocsin_worker.pace import LATEST_MS, Pace
from tocsin_worker.targets import target_host

LIMITS = ConcurrencyLimits(handlers={"http": 3, "task": 1}, host=2)
KINDS = st.sampled_from(
    [("http", "a"), ("http", "b"), ("http", "c"), ("task", None), ("noop", None), ("other", "a")]
)


def delivery(number: int, kind: str, host: str | None, tenant: str = "acme") -> Delivery:
    config = b"{}" if host is None else json.dumps({"url": f"http://{host}/x"}).encode()
    run = a_run(f"job-{number}", tenant=tenant, handler=Handler(type=kind, config=config))
    return Delivery(RunsPartition(Place("normal", 0), 0, 0), number, run, redelivered=False)


def exceeded(executing: list[Delivery]) -> bool:
    kinds = Counter(one.run.handler.type for one in executing)
    hosts = Counter(target_host(one.run) for one in executing)
    return (
        any(kinds[kind] > limit for kind, limit in LIMITS.handlers.items())
        or max((count for host, count in hosts.items() if host), default=0) > 2
    )


def begun(concurrency: Concurrency, one: Delivery) -> bool:
    """Whether it was admitted, and executes."""
    admitted = concurrency.admit(one)
    if admitted:
        concurrency.begun(one.run)
    return admitted


def one_task_at_a_time() -> Concurrency:
    limits = ConcurrencyLimits(handlers={"task": 1})
    return Concurrency(limits, SettableClock().monotonic_ms)


@given(st.lists(KINDS, max_size=40), st.data())
def test_limits_are_kept_nobody_is_forgotten_and_nobody_waits_without_need(
    kinds: list[tuple[str, str | None]], data: st.DataObject
) -> None:
    concurrency = Concurrency(LIMITS, SettableClock().monotonic_ms)
    given_runs = [delivery(n, kind, host) for n, (kind, host) in enumerate(kinds)]
    executing, waiting, done = list[Delivery](), list[Delivery](), list[Delivery]()
    for one in given_runs:
        (executing if begun(concurrency, one) else waiting).append(one)
        assert not exceeded(executing)
    while executing:
        ended = data.draw(st.sampled_from(executing))
        executing.remove(ended)
        done.append(ended)
        concurrency.ended(ended.run, 0)
        while (next_one := concurrency.take()) is not None:
            concurrency.begun(next_one.run)
            waiting.remove(next_one)
            executing.append(next_one)
        assert not exceeded(executing)
        assert all(exceeded([*executing, one]) for one in waiting)
    assert sorted(one.offset for one in done) == list(range(len(kinds)))


@given(st.lists(KINDS, max_size=40))
def test_without_limits_everything_is_admitted(kinds: list[tuple[str, str | None]]) -> None:
    concurrency = Concurrency(ConcurrencyLimits(), SettableClock().monotonic_ms)
    assert all(concurrency.admit(delivery(n, k, h)) for n, (k, h) in enumerate(kinds))


def test_of_what_waits_tenants_take_turns() -> None:
    concurrency = one_task_at_a_time()
    tenants = ["a", "a", "a", "a", "b"]
    all_of_them = [delivery(n, "task", None, tenant) for n, tenant in enumerate(tenants)]
    first, *_ = (one for one in all_of_them if concurrency.admit(one))
    order = []
    concurrency.ended(first.run, 0)
    while (one := concurrency.take()) is not None:
        order.append(one.run.tenant)
        concurrency.ended(one.run, 0)
    assert order == ["a", "b", "a", "a"]


def test_what_went_with_its_partition_is_not_begun_here() -> None:
    concurrency = one_task_at_a_time()
    first, gone, left = (delivery(n, "task", None) for n in range(3))
    for one in (first, gone, left):
        concurrency.admit(one)
    gone.partition.withdraw()
    concurrency.ended(first.run, 0)
    assert concurrency.take() is left


def test_what_is_given_up_waits_no_more() -> None:
    concurrency = one_task_at_a_time()
    first, second = (delivery(n, "task", None) for n in range(2))
    concurrency.admit(first)
    concurrency.admit(second)
    assert concurrency.give_up() == [second]
    concurrency.ended(first.run, 0)
    assert concurrency.take() is None


@pytest.mark.parametrize(
    ("config", "host"),
    [
        (b'{"url": "https://Shop.Example:8443/a?b"}', "shop.example"),
        (b'{"url": "http://[::1]/"}', "::1"),
        (b'{"image": "x"}', None),
        (b'{"url": 7}', None),
        (b'{"url": "http://["}', None),
        (b"[]", None),
        (b"{", None),
    ],
)
def test_the_host_is_that_of_the_configured_url(config: bytes, host: str | None) -> None:
    assert target_host(a_run(handler=Handler(type="http", config=config))) == host


def parked(clock: SettableClock, *hosts: str) -> tuple[Concurrency, RunsPartition]:
    """One call to each host at a time; the runs were read from one partition, and taken in turn."""
    concurrency = Concurrency(ConcurrencyLimits(host=1), clock.monotonic_ms)
    partition = RunsPartition(Place("normal", 0), 0, 0)
    for number, host in enumerate(hosts):
        run = delivery(number, "http", host).run
        partition.read(number, run)
        (one,) = partition.offer()
        if begun(concurrency, one):
            partition.taken(one)
    return concurrency, partition


def test_what_is_in_the_way_for_long_is_sent_away_for_as_long_as_the_others_take() -> None:
    clock = SettableClock()
    concurrency, partition = parked(clock, "a", "a", "b", "a")
    clock.advance(HOLD_MS - 1)
    assert concurrency.in_the_way(partition) == []
    clock.advance(1)
    sent = concurrency.in_the_way(partition)
    assert [one.offset for one, _ in sent] == [1, 3]
    assert {error.code for _, error in sent} == {"saturated"}
    assert "host a is at its limit, 1" in sent[0][1].message
    first, second = (error.retry_after_ms or 0 for _, error in sent)
    assert second - first == 1_000
    assert not concurrency.makes_wait


def test_where_nothing_has_ended_for_long_nobody_is_waited_for() -> None:
    clock = SettableClock()
    concurrency, partition = parked(clock, "a", "a")
    clock.advance(HOLD_MS)
    assert len(concurrency.in_the_way(partition)) == 1
    late = RunsPartition(Place("normal", 1), 0, 0)
    late.read(0, delivery(0, "http", "a").run)
    (one,) = late.offer()
    assert not begun(concurrency, one)
    assert [sent for sent, _ in concurrency.in_the_way(late)] == [one]


def test_where_runs_end_quickly_everybody_is_waited_for() -> None:
    clock = SettableClock()
    concurrency, partition = parked(clock, "a", "a")
    clock.advance(HOLD_MS)
    concurrency.in_the_way(partition)
    late = RunsPartition(Place("normal", 1), 0, 0)
    for number in range(20):
        late.read(number, delivery(number, "http", "a").run)
    executing, *waiting = late.offer()
    concurrency.ended(delivery(0, "http", "a").run, 10)
    assert begun(concurrency, executing)
    for one in waiting:
        assert not begun(concurrency, one)
        late.taken(executing)
        assert concurrency.in_the_way(late) == []
        concurrency.ended(executing.run, 10)
        assert concurrency.take() is one
        concurrency.begun(one.run)
        executing = one


def test_of_hosts_that_nobody_is_sent_back_to_any_more_nothing_is_kept() -> None:
    def paces() -> int:
        gc.collect()
        return sum(isinstance(each, Pace) for each in gc.get_objects())

    before = paces()
    clock = SettableClock()
    hosts = [f"h{number}" for number in range(50)]
    concurrency, partition = parked(clock, *hosts, *hosts)
    clock.advance(HOLD_MS)
    assert len(concurrency.in_the_way(partition)) == len(hosts)
    for host in hosts:
        concurrency.ended(delivery(hosts.index(host), "http", host).run, 10)
    concurrency.forget()
    assert paces() == before + len(hosts), "they are to come again, in turns"
    clock.advance(LATEST_MS + 1)
    concurrency.forget()
    assert paces() == before


def test_what_waits_behind_something_that_executes_is_in_nobodys_way() -> None:
    clock = SettableClock()
    concurrency, partition = parked(clock, "a", "a")
    clock.advance(2 * HOLD_MS)
    late = RunsPartition(Place("normal", 1), 0, 0)
    assert concurrency.in_the_way(late) == []
    assert len(concurrency.in_the_way(partition)) == 1


def test_a_redirect_is_counted_where_it_leads() -> None:
    async def main() -> None:
        concurrency = Concurrency(ConcurrencyLimits(host=1), SettableClock().monotonic_ms)
        (to_a, to_b, next_a) = (delivery(n, "http", host) for n, host in enumerate("aba"))
        assert begun(concurrency, to_a)
        assert begun(concurrency, to_b)
        assert not begun(concurrency, next_a)
        assert concurrency.is_at(to_a.run, "a")
        concurrency.leave_host(to_a.run)
        assert concurrency.take() is next_a, "its place is free at once"
        concurrency.begun(next_a.run)
        entering = asyncio.ensure_future(concurrency.enter_host(to_a.run, "b"))
        await let_run()
        assert not entering.done()
        concurrency.ended(to_b.run, 5)
        await entering
        assert concurrency.is_at(to_a.run, "b")
        assert not begun(concurrency, delivery(9, "http", "b"))
        concurrency.ended(to_a.run, 5)
        assert concurrency.take() is not None

    asyncio.run(main())


def test_a_redirect_that_is_stopped_while_it_waits_takes_no_place() -> None:
    async def main(*, handed_on: bool) -> None:
        concurrency = Concurrency(ConcurrencyLimits(host=1), SettableClock().monotonic_ms)
        to_a, to_b = delivery(0, "http", "a"), delivery(1, "http", "b")
        assert begun(concurrency, to_a)
        assert begun(concurrency, to_b)
        concurrency.leave_host(to_a.run)
        entering = asyncio.ensure_future(concurrency.enter_host(to_a.run, "b"))
        await let_run()
        if handed_on:
            concurrency.ended(to_b.run, 5)
        entering.cancel()
        await asyncio.wait([entering])
        concurrency.ended(to_a.run, 5)
        if not handed_on:
            concurrency.ended(to_b.run, 5)
        assert begun(concurrency, delivery(2, "http", "a"))
        assert begun(concurrency, delivery(3, "http", "b"))

    asyncio.run(main(handed_on=False))
    asyncio.run(main(handed_on=True))


def test_an_abandoned_run_that_goes_on_to_another_host_is_not_counted() -> None:
    async def main() -> None:
        concurrency = Concurrency(ConcurrencyLimits(host=1), SettableClock().monotonic_ms)
        to_a = delivery(0, "http", "a")
        assert begun(concurrency, to_a)
        concurrency.leave_host(to_a.run)
        concurrency.ended(to_a.run, 5)
        await concurrency.enter_host(to_a.run, "b")
        assert begun(concurrency, delivery(1, "http", "b"))

    asyncio.run(main())


class Other(Gate):
    """A handler of another type."""

    type = "other"


def other_run(number: int) -> Run:
    return msgspec.structs.replace(fresh_run(f"other-{number}"), handler=Handler(type="other"))


def test_more_runs_than_a_partition_may_run_ahead_hold_up_nobody_at_a_limit() -> None:
    """They go back to the scheduler, and come again; here it is played by whoever sees them."""

    async def main() -> None:
        memory = memory_cluster()
        gate = Other()
        cluster = shared(memory)
        options = worker_options(slots=8, limits=ConcurrencyLimits(handlers={"other": 2}))
        node = WorkerNode(cluster, options, Registry([NoopHandler(), gate]), Gauges())
        task = asyncio.ensure_future(node.run())
        waiting = [other_run(n) for n in range(2 * WINDOW)]
        with at_once(cluster):
            emit(memory, *waiting, *(fresh_run(f"noop-{n}") for n in range(50)))
        await until(lambda: ended(memory)["succeeded"] == 50)
        assert len(gate.entered) <= 2
        gate.gate.set()
        seen = 0
        async with asyncio.timeout(60):
            while ended(memory)["succeeded"] < len(waiting) + 50:
                away = [o for o in outcomes(memory) if o.kind == "declined"][seen:]
                assert all(o.error and o.error.code == "saturated" for o in away)
                assert all(o.error and o.error.retry_after_ms for o in away)
                with at_once(cluster):
                    emit(memory, *(o.run for o in away if o.run is not None))
                seen += len(away)
                await asyncio.sleep(0.2)
        assert seen > WINDOW
        assert len(set(gate.entered)) == len(gate.entered) == len(waiting)
        node.stop()
        assert await task is Exit.DONE

    def ended(memory: MemoryCluster) -> Counter[str]:
        return Counter(outcome.kind for outcome in outcomes(memory))

    asyncio.run(main())


def test_a_handler_at_its_limit_holds_up_no_other_and_everything_runs_in_the_end() -> None:
    """Also among the first runs after an assignment, which go one by one."""

    async def main() -> None:
        memory = memory_cluster()
        gate = Other()
        others = [other_run(n) for n in range(20)]
        emit(memory, *others)
        options = worker_options(slots=8, limits=ConcurrencyLimits(handlers={"other": 2}))
        node = WorkerNode(shared(memory), options, Registry([NoopHandler(), gate]), Gauges())
        task = asyncio.ensure_future(node.run())
        await until(lambda: len(gate.entered) == 1 or len(gate.entered) == 2)
        gate.gate.set()
        await until(lambda: done(memory) >= 20)
        gate.gate.clear()
        emit(memory, *(other_run(n) for n in range(20, 40)))
        await until(lambda: len(gate.entered) == 22)
        emit(memory, *(fresh_run(f"noop-{n}") for n in range(50)))
        await until(lambda: done(memory) == 70)
        assert node.executing == 2
        gate.gate.set()
        await until(lambda: done(memory) == 90)
        node.stop()
        assert await task is Exit.DONE

    def done(memory: MemoryCluster) -> int:
        return len([o for o in outcomes(memory) if o.kind == "succeeded"])

    asyncio.run(main())


def test_told_to_stop_it_leaves_what_waits_for_a_limit_to_others() -> None:
    async def main() -> None:
        memory = memory_cluster()
        gate = Other(opened=True)
        options = worker_options(slots=8, limits=ConcurrencyLimits(handlers={"other": 1}))
        node = WorkerNode(shared(memory), options, Registry([NoopHandler(), gate]), Gauges())
        task = asyncio.ensure_future(node.run())
        emit(memory, *(fresh_run(f"warm-{n}") for n in range(256)))
        await until(lambda: len(outcomes(memory)) >= 256)
        gate.gate.clear()
        runs = [other_run(n) for n in range(5)]
        emit(memory, *runs, fresh_run("last"))
        await until(lambda: len(gate.entered) == 1 and node.executing == 1)
        node.stop()
        await until(lambda: kinds_of(memory)["declined"] == 4)
        gate.gate.set()
        assert await task is Exit.DONE
        declined = [o.run for o in outcomes(memory) if o.kind == "declined"]
        assert declined == runs[1:]
        assert gate.entered == [runs[0].run_id]

    def kinds_of(memory: MemoryCluster) -> Counter[str]:
        return Counter(o.kind for o in outcomes(memory))

    asyncio.run(main())
