"""One attempt, from its slot to its outcome: what stands in the log, and when the offset passes."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import cast

from tests.worker.support import HOUR_MS, TOPICS, ManualTimers, a_run, let_run, memory_cluster
from tests.worker.support import kinds as kinds_in
from tests.worker.support import outcomes as outcomes_in
from tocsin.model.jobs import Handler
from tocsin.model.runs import Error, ErrorCode, Outcome, OutcomeKind, Run
from tocsin_worker.attempt import Attempt, Workplace
from tocsin_worker.execution import Stop
from tocsin_worker.handlers.port import Context, Deferred, HandlerFailed, Success
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.intake.partition import Delivery, Place, RunsPartition
from tocsin_worker.leases import LeaseTerms
from tocsin_worker.outcomes import Outcomes
from tocsin_worker.timers import SameDelay
from tocsin_worker.writer import LogWriter

HEARD_MS = 2
"""Reports are served this long after a record was written."""


class Held:
    """A handler that works until it is told how to end."""

    type = "noop"

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._end: asyncio.Future[Success | Deferred] = asyncio.get_running_loop().create_future()

    async def execute(self, run: Run, context: Context) -> Success | Deferred:
        self.runs.append(run)
        return await asyncio.shield(self._end)

    async def close(self) -> None:
        return None

    def succeed(self) -> None:
        self._end.set_result(Success(b'"ok"'))

    def defer(self) -> None:
        self._end.set_result(Deferred(b'"queued"'))

    def fail(self, error: Error) -> None:
        self._end.set_exception(HandlerFailed(error, b'"half"'))


class Scene:
    """One attempt, and everything around it that can be seen from outside."""

    def __init__(self) -> None:
        self.timers = ManualTimers()
        self.cluster = memory_cluster(self.timers.clock)
        self.handler = Held()
        self.passed_offsets: list[int] = []
        self.commit: Callable[[], None] | None = None
        self.cancelled: set[tuple[str, int]] = set()
        self.measured: list[tuple[str, int | None]] = []
        self.slots_given_back = 0
        writer = LogWriter(self.cluster.producer(), self.timers, lambda error: None)
        self._place = Workplace(
            worker="w-1",
            terms=LeaseTerms(),
            timers=self.timers,
            soon=SameDelay(self.timers, LeaseTerms().claim_after_ms),
            outcomes=Outcomes("w-1", TOPICS.outcomes, writer, self.timers),
            registry=Registry([self.handler]),
            deliveries=self,
            gauges=self,
            is_cancelled=lambda run_id, attempt: (run_id, attempt) in self.cancelled,
            enter_host=self.enter_host,
        )

    async def enter_host(self, run: Run, host: str) -> None:
        raise AssertionError

    def passed(self, delivery: Delivery) -> None:
        self.passed_offsets.append(delivery.offset)

    def when_committed(self, delivery: Delivery, call: Callable[[], None]) -> None:
        self.commit = call

    def started(self, run: Run, lateness_ms: int) -> None:
        self.measured.append(("started", lateness_ms))

    def ended(self, run: Run, kind: OutcomeKind, duration_ms: int | None) -> None:
        self.measured.append((kind, duration_ms))

    def undecodable(self, topic: str) -> None:
        raise AssertionError

    def attempt(self, run: Run | None = None, *, redelivered: bool = False) -> Attempt:
        def ended(attempt: Attempt) -> None:
            self.slots_given_back += 1

        return Attempt(self.delivery(run, redelivered=redelivered), self._place, ended)

    def delivery(
        self, run: Run | None = None, *, offset: int = 40, redelivered: bool = False
    ) -> Delivery:
        partition = RunsPartition(Place("normal", 0), 0, None)
        return Delivery(partition, offset, run or a_run(), redelivered)

    async def pass_time(self, duration_ms: int) -> None:
        """In steps, so that tasks take part."""
        await let_run()
        for step_ms in (duration_ms - duration_ms // 2, duration_ms // 2):
            self.timers.advance(step_ms)
            await let_run()

    @property
    def kinds(self) -> list[str]:
        return kinds_in(self.cluster)

    @property
    def outcomes(self) -> list[Outcome]:
        return outcomes_in(self.cluster)


def play(scenario: Callable[[Scene], Awaitable[None]]) -> None:
    async def main() -> None:
        await scenario(Scene())

    asyncio.run(main())


def test_a_short_run_costs_one_outcome_and_passes_when_it_is_heard() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt().begin()
        scene.handler.succeed()
        await let_run()
        assert scene.kinds == ["succeeded"]
        assert scene.slots_given_back == 1
        assert scene.passed_offsets == []
        await scene.pass_time(HEARD_MS)
        assert scene.passed_offsets == [40]
        (outcome,) = scene.outcomes
        assert (outcome.result, outcome.worker, outcome.run) == (b'"ok"', "w-1", None)

    play(scenario)


def test_a_failure_carries_the_run_whole() -> None:
    async def scenario(scene: Scene) -> None:
        run = a_run(payload=b'{"n": 1}')
        scene.attempt(run).begin()
        scene.handler.fail(Error(code="connect", message="refused", retry_after_ms=7))
        await scene.pass_time(HEARD_MS)
        (outcome,) = scene.outcomes
        assert outcome.kind == "failed"
        assert outcome.run == run
        assert outcome.error == Error(code="connect", message="refused", retry_after_ms=7)
        assert outcome.result == b'"half"'

    play(scenario)


def test_a_run_that_goes_on_elsewhere_frees_its_slot_and_is_told_whole() -> None:
    async def scenario(scene: Scene) -> None:
        run = a_run(payload=b'{"n": 1}')
        scene.attempt(run).begin()
        scene.handler.defer()
        await scene.pass_time(HEARD_MS)
        (outcome,) = scene.outcomes
        assert (outcome.kind, outcome.run, outcome.result) == ("deferred", run, b'"queued"')
        assert scene.slots_given_back == 1
        assert scene.passed_offsets == [40]

    play(scenario)


def test_a_run_that_takes_longer_than_a_second_is_claimed_and_its_offset_passes() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt().begin()
        await scene.pass_time(998)
        assert scene.kinds == []
        await scene.pass_time(2 + HEARD_MS)
        assert scene.kinds == ["started"]
        assert scene.passed_offsets == [40]
        (claim,) = scene.outcomes
        assert claim.run == a_run()
        assert claim.lease_ms == 60_000
        scene.handler.succeed()
        await scene.pass_time(HEARD_MS)
        assert scene.kinds == ["started", "succeeded"]
        assert scene.outcomes[1].started_time == claim.started_time

    play(scenario)


def test_a_possible_redelivery_is_claimed_and_committed_before_it_executes() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt(redelivered=True).begin()
        await let_run()
        assert scene.kinds == ["started"]
        assert scene.handler.runs == []
        await scene.pass_time(HEARD_MS)
        assert scene.passed_offsets == [40]
        assert scene.handler.runs == [], "the offset is not committed yet"
        assert scene.commit is not None
        scene.commit()
        await let_run()
        assert scene.handler.runs == [a_run()]
        scene.handler.succeed()
        await scene.pass_time(1_000)
        assert scene.kinds == ["started", "succeeded"]

    play(scenario)


def test_a_cancelled_run_is_answered_without_executing() -> None:
    async def scenario(scene: Scene) -> None:
        scene.cancelled.add((a_run().run_id, 1))
        scene.attempt().begin()
        await scene.pass_time(HEARD_MS)
        assert scene.kinds == ["cancelled"]
        assert scene.handler.runs == []
        assert scene.passed_offsets == [40]
        assert scene.slots_given_back == 1

    play(scenario)


def test_a_run_past_its_queue_time_out_is_answered_expired() -> None:
    async def scenario(scene: Scene) -> None:
        scene.timers.freeze(HOUR_MS)
        scene.attempt().begin()
        await let_run()
        assert scene.handler.runs, "the last millisecond still counts"
        scene.timers.freeze(1)
        scene.attempt(a_run("another")).begin()
        await let_run()
        assert scene.kinds == ["expired"]

    play(scenario)


def test_a_run_whose_queue_time_out_passes_while_it_waits_for_its_claim_is_not_executed() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt(redelivered=True).begin()
        await scene.pass_time(HEARD_MS)
        scene.timers.freeze(HOUR_MS)
        assert scene.commit is not None
        scene.commit()
        await scene.pass_time(HEARD_MS)
        assert scene.kinds == ["started", "expired"]
        assert scene.handler.runs == []
        assert scene.slots_given_back == 1

    play(scenario)


def test_an_unknown_handler_is_a_failure_that_another_worker_may_not_have() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt(a_run(handler=Handler(type="quantum"))).begin()
        await let_run()
        (outcome,) = scene.outcomes
        assert outcome.error is not None
        assert (outcome.error.code, outcome.error.permanent) == ("no_handler", False)
        assert "'quantum'" in outcome.error.message

    play(scenario)


def test_every_reason_to_stop_has_its_outcome() -> None:
    expected = {
        Stop.CANCELLED: ("cancelled", None),
        Stop.SUPERSEDED: ("declined", None),
        Stop.TIMEOUT: ("failed", "timeout"),
        Stop.LEASE_LOST: ("failed", "lease_expired"),
        Stop.INTERRUPTED: ("failed", "interrupted"),
    }

    async def scenario(scene: Scene) -> None:
        for reason in Stop:
            attempt = scene.attempt()
            attempt.begin()
            await let_run()
            attempt.stop(reason)
            await let_run()
            outcome = scene.outcomes[-1]
            error = outcome.error
            assert (outcome.kind, error and error.code) == expected[reason]
            assert error is None or not error.permanent

    play(scenario)


def test_what_was_claimed_but_never_begun_is_declined_and_not_counted() -> None:
    async def scenario(scene: Scene) -> None:
        attempt = scene.attempt(redelivered=True)
        attempt.begin()
        await scene.pass_time(HEARD_MS)
        attempt.stop(Stop.INTERRUPTED)
        assert scene.kinds == ["started", "declined"]
        assert scene.commit is not None
        scene.commit()
        await let_run()
        assert scene.handler.runs == []

    play(scenario)


def test_a_worker_frozen_past_its_lease_stops_the_handler_when_it_wakes() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt(a_run(timeout_ms=HOUR_MS)).begin()
        await scene.pass_time(1_000 + HEARD_MS)
        scene.timers.freeze(60_000)
        await scene.pass_time(0)
        assert scene.kinds == ["started", "failed"]
        error = scene.outcomes[-1].error
        assert error is not None
        assert error.code == "lease_expired"

    play(scenario)


def test_b115_a_healthy_run_may_take_far_longer_than_its_lease() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt(a_run(timeout_ms=2 * HOUR_MS)).begin()
        await let_run()
        for _ in range(90 * 60):
            scene.timers.advance(1_000)
        scene.handler.succeed()
        await let_run()
        assert scene.kinds[0] == "started"
        assert scene.kinds[-1] == "succeeded"
        assert set(scene.kinds[1:-1]) == {"heartbeat"}
        assert len(scene.kinds) - 2 == 90 * 60 // 20 - 1

    play(scenario)


def test_the_same_attempt_read_again_executes_once_and_both_records_pass() -> None:
    async def scenario(scene: Scene) -> None:
        attempt = scene.attempt()
        attempt.begin()
        attempt.join(scene.delivery(offset=7))
        await scene.pass_time(HEARD_MS)
        assert scene.kinds == ["started"]
        assert scene.passed_offsets == [40, 7]
        attempt.join(scene.delivery(offset=9))
        assert scene.passed_offsets == [40, 7, 9]
        assert len(scene.handler.runs) == 1
        scene.handler.succeed()
        await let_run()

    play(scenario)


def test_an_attempt_that_is_read_again_stands_for_what_was_emitted_last() -> None:
    async def scenario(scene: Scene) -> None:
        older = a_run()
        newer = a_run(emitted_time=older.emitted_time + 1)
        attempt = scene.attempt(older)
        attempt.begin()
        for run in (newer, older):
            attempt.join(scene.delivery(run, offset=41))
        await scene.pass_time(HEARD_MS)
        attempt.stop(Stop.SUPERSEDED)
        await let_run()
        assert [(o.kind, o.run) for o in scene.outcomes] == [
            ("started", newer),
            ("declined", newer),
        ]

    play(scenario)


class Odd(str):
    """Text, as far as one can tell without using it."""

    __hash__ = None  # type: ignore[assignment]


def test_an_outcome_that_cannot_be_written_is_a_failure_and_frees_the_slot() -> None:
    async def scenario(scene: Scene) -> None:
        scene.attempt().begin()
        scene.handler.fail(Error(code=cast("ErrorCode", Odd("connect")), message="refused"))
        await scene.pass_time(HEARD_MS)
        (outcome,) = scene.outcomes
        assert outcome.error is not None
        assert (outcome.kind, outcome.error.code) == ("failed", "exception")
        assert scene.slots_given_back == 1
        assert scene.passed_offsets == [40]

    play(scenario)


def test_lateness_and_duration_are_measured() -> None:
    async def scenario(scene: Scene) -> None:
        scene.timers.freeze(30)
        scene.attempt().begin()
        await scene.pass_time(200)
        scene.handler.succeed()
        await let_run()
        assert scene.measured == [("started", 30), ("succeeded", 200)]

    play(scenario)
