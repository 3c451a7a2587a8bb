"""The conformance suite of handlers: what each must do, whatever its type. For pytest.

Handlers that come with Tocsin pass it; let yours pass it too:

    @asynccontextmanager
    async def mail() -> AsyncIterator[Case]:
        handler = MailHandler(equipment(TOCSIN_SECRET_MAIL="s3cret"))
        good = handler_run("acme-mail", {"to": "ada@acme.example"})
        yield Case(handler, good, failing=(handler_run("acme-mail", {}),))


    class TestMail(HandlerConformance):
        @pytest.fixture
        def case(self) -> CaseFactory:
            return mail
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from threading import Thread
from typing import Any, NamedTuple, get_args

import msgspec

from tocsin.model.jobs import Handler
from tocsin.model.runs import ErrorCode, Run
from tocsin.settings import load_settings
from tocsin.testing.clock import NEW_YEAR_2026
from tocsin_worker.execution import CANCEL_GRACE_MS
from tocsin_worker.handlers.port import (
    Context,
    Deferred,
    Equipment,
    HandlerFailed,
    RunHandler,
    Success,
)
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.limits import RESULT_BYTES

CONTEXT = Context("w-1", NEW_YEAR_2026)
AT_ONCE = 20
PATIENCE_S = 45.0
"""How long a test waits for what should take no time."""

_HOUR_MS = 3_600_000


class Case(NamedTuple):
    """A handler with runs to try it on.

    good: succeeds, as often as it is executed. failing: each fails, such as one whose
    configuration is wrong. hanging: a run that would go on for ever, and the event that it has
    begun; None for a handler that cannot take long.
    """

    handler: RunHandler
    good: Run
    failing: tuple[Run, ...] = ()
    hanging: tuple[Run, asyncio.Event] | None = None


CaseFactory = Callable[[], AbstractAsyncContextManager[Case]]
"""Makes a case, with all that the handler talks to, on a running event loop. The suite closes the
handler itself, before it leaves the context."""


def equipment(**environment: str) -> Equipment:
    """What a worker with these variables hands to the factory of a handler: `TOCSIN_…`, and with
    `TOCSIN_SECRET_NAME` the secret `secret://name`."""
    secrets = {key: text for key, text in environment.items() if key.startswith("TOCSIN_SECRET_")}
    others = {key: text for key, text in environment.items() if key not in secrets}
    return Equipment(CONTEXT.worker, load_settings(others), Secrets(None, secrets))


def handler_run(
    handler: str, config: Mapping[str, Any] | None = None, payload: Any = None, **fields: Any
) -> Run:
    """A run as a worker reads it: first attempt, due on 2026-01-01, a minute of time.

    `config`: the fields that stand in the job beside `handler.type`. `payload`: any JSON value, or
    its bytes. `fields`: others of the run.
    """
    run = Run(
        run_id="acme.job.20260101T000000.000Z",
        scheduled_time=NEW_YEAR_2026,
        due_time=NEW_YEAR_2026,
        emitted_time=NEW_YEAR_2026,
        expires_time=NEW_YEAR_2026 + _HOUR_MS,
        attempt=1,
        cause="schedule",
        tracked=False,
        max_attempts=5,
        tenant="acme",
        job_id="job",
        revision=7,
        priority="normal",
        pool="default",
        handler=Handler(type=handler, config=_json(config or {})),
        payload=payload if isinstance(payload, bytes) else _json(payload),
        timeout_ms=60_000,
    )
    return msgspec.structs.replace(run, **fields)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


class HandlerConformance:
    """Derive a class `Test…` with a fixture `case` that answers with a `CaseFactory`."""

    def test_it_executes_the_runs_of_its_own_type(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            runs = (case.good, *case.failing, *(case.hanging or ())[:1])
            assert {run.handler.type for run in runs} == {case.handler.type}

        play(case, scenario)

    def test_a_good_run_succeeds_with_json_that_history_can_keep(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            answer = await case.handler.execute(case.good, CONTEXT)
            assert isinstance(answer, Success | Deferred), f"it returned {answer!r}"
            _check_result(answer.result)

        play(case, scenario)

    def test_a_run_that_is_delivered_twice_succeeds_twice(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            for _ in range(2):
                await _succeed(case)

        play(case, scenario)

    def test_a_failure_is_told_as_one_and_does_no_harm_to_others(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            for run in case.failing:
                _check_failure(await _failure(case.handler, run))
            await _succeed(case)

        play(case, scenario)

    def test_runs_do_not_wait_for_one_another(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            slow = case.hanging and asyncio.ensure_future(
                case.handler.execute(case.hanging[0], CONTEXT)
            )
            await asyncio.gather(*(_succeed(case) for _ in range(AT_ONCE)))
            if slow is not None:
                assert not slow.done(), f"the hanging run has ended: {slow}"
                slow.cancel()
                await asyncio.wait([slow])

        play(case, scenario)

    def test_it_lets_go_when_it_is_cancelled(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            if case.hanging is None:
                return
            run, begun = case.hanging
            attempt = asyncio.ensure_future(case.handler.execute(run, CONTEXT))
            await begun.wait()
            attempt.cancel()
            await asyncio.wait([attempt], timeout=CANCEL_GRACE_MS / 1000)
            assert attempt.done(), f"it went on for {CANCEL_GRACE_MS} ms after it was cancelled"
            assert attempt.cancelled(), "it did not raise CancelledError again"
            await _succeed(case)

        play(case, scenario)

    def test_it_may_be_closed_without_any_run_and_twice(self, case: CaseFactory) -> None:
        async def scenario(case: Case) -> None:
            await case.handler.close()
            await case.handler.close()

        play(case, scenario)


def play(factory: CaseFactory, scenario: Callable[[Case], Awaitable[None]]) -> None:
    """Run the scenario on an event loop, on a thread of its own: a handler that blocks the loop
    fails the test, and does not hold it up."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(_played(factory, scenario))
        except BaseException as error:  # noqa: BLE001 - raised again on the test's thread
            raised.append(error)

    thread = Thread(target=run, name="handler under test", daemon=True)
    thread.start()
    thread.join(2 * PATIENCE_S)
    assert not thread.is_alive(), "the handler blocks the event loop, where it must await"
    if raised:
        raise raised[0]


async def _played(factory: CaseFactory, scenario: Callable[[Case], Awaitable[None]]) -> None:
    async with factory() as case:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await scenario(case)
        finally:
            await case.handler.close()


async def _succeed(case: Case) -> None:
    assert isinstance(await case.handler.execute(case.good, CONTEXT), Success | Deferred)


async def _failure(handler: RunHandler, run: Run) -> HandlerFailed:
    try:
        answer = await handler.execute(run, CONTEXT)
    except HandlerFailed as failed:
        return failed
    raise AssertionError(f"a run that has to fail returned {answer!r}: {run.handler}")


def _check_failure(failed: HandlerFailed) -> None:
    assert failed.error.code in get_args(ErrorCode), failed.error
    assert failed.error.message, "a failure without a sentence helps nobody"
    failed.error.message.encode()
    _check_result(failed.result)


def _check_result(result: bytes | None) -> None:
    if result is not None:
        msgspec.json.decode(result)
        assert len(result) <= RESULT_BYTES, f"{len(result)} bytes; history keeps {RESULT_BYTES}"
