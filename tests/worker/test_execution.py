"""A handler at work: every way in which it can end, each exactly once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from tests.worker.support import ManualTimers, a_run, let_run
from tocsin.model.runs import Error, Run
from tocsin_worker.execution import CANCEL_GRACE_MS, Ending, Execution, Stop
from tocsin_worker.handlers.port import Context, Deferred, HandlerFailed, Success
from tocsin_worker.timers import SameDelay

CONTEXT = Context("w-1", 0)
TIMEOUT_MS = 5_000

Behaviour = Callable[[], Awaitable[Success | Deferred]]


class Handler:
    """Does what it is given."""

    type = "test"

    def __init__(self, does: Behaviour) -> None:
        self._does = does

    async def execute(self, run: Run, context: Context) -> Success | Deferred:
        return await self._does()

    async def close(self) -> None:
        return None


async def succeed() -> Success:
    return Success(b"1")


async def defer() -> Deferred:
    return Deferred(b"1")


async def fail() -> Success:
    raise HandlerFailed(Error(code="exit_code", message="3", permanent=True))


async def crash() -> Success:
    raise ZeroDivisionError("by zero")


async def hang() -> Success:
    await asyncio.Event().wait()
    raise AssertionError


async def ignore_cancellation() -> Success:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


async def succeed_when_cancelled() -> Success:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        return Success(b"just in time")
    raise AssertionError


async def crash_when_cancelled() -> Success:
    try:
        await asyncio.Event().wait()
    finally:
        raise ZeroDivisionError


async def cancel_itself() -> Success:
    raise asyncio.CancelledError


async def return_nonsense() -> Success:
    return cast("Success", "done")


async def return_text_for_json() -> Success:
    return Success(cast("bytes", "done"))


class Unreadable(HandlerFailed):
    """Forgets to make itself."""

    def __init__(self) -> None:
        return None


def failing_with(error: object) -> Behaviour:
    """A failure whose error is anyone's."""

    async def fail() -> Success:
        failure = HandlerFailed(Error(code="connect", message="refused"))
        failure.error = cast("Error", error)
        raise failure

    return fail


async def fail_unreadably() -> Success:
    raise Unreadable


def endings(
    does: Behaviour,
    *steps: Stop | int,
    first_look_ms: int = TIMEOUT_MS // 2,
    at_work: Callable[[], None] = lambda: None,
) -> list[Ending]:
    """How an execution ends; a step is a reason to stop it, or milliseconds that pass."""

    async def main() -> list[Ending]:
        timers = ManualTimers()
        ended: list[Ending] = []
        run = a_run(timeout_ms=TIMEOUT_MS)
        soon = SameDelay(timers, first_look_ms)
        execution = Execution(run, Handler(does), CONTEXT, timers, soon, at_work, ended.append)
        assert ended == []
        await let_run()
        for step in steps:
            if isinstance(step, Stop):
                execution.stop(step)
            else:
                timers.advance(step)
            await let_run()
        return ended

    async def then_cancel_what_is_left() -> list[Ending]:
        ended = await main()
        return list(ended)

    return _run_and_abandon(then_cancel_what_is_left())


def errors(does: Behaviour) -> list[Error]:
    """The errors of endings that are all failures."""
    failures = endings(does)
    assert all(isinstance(ending, HandlerFailed) for ending in failures)
    return [ending.error for ending in failures if isinstance(ending, HandlerFailed)]


def _run_and_abandon(main: Awaitable[list[Ending]]) -> list[Ending]:
    """Like `asyncio.run`, without waiting for tasks that refuse to end."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(main)
    finally:
        for task in asyncio.all_tasks(loop):
            task.get_coro().close()
            task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()


def test_what_it_returns_is_how_it_ends() -> None:
    assert endings(succeed) == [Success(b"1")]
    assert endings(defer) == [Deferred(b"1")]


def test_its_own_failure_is_kept_as_it_is() -> None:
    assert errors(fail) == [Error(code="exit_code", message="3", permanent=True)]


def test_any_other_exception_is_a_failure_that_may_be_retried() -> None:
    assert errors(crash) == [Error(code="exception", message="ZeroDivisionError: by zero")]


def test_a_wrong_result_is_a_failure() -> None:
    assert errors(return_nonsense) == [Error(code="exception", message="the handler returned str")]
    (error,) = errors(return_text_for_json)
    assert "not JSON in bytes" in error.message


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"retry_after_ms": 1.5}, "retry_after_ms"),
        ({"retry_after_ms": -1}, "retry_after_ms"),
        ({"retry_after_ms": 2**63}, "retry_after_ms"),
        ({"message": ValueError("x")}, "message is ValueError"),
        ({"message": None}, "message is NoneType"),
        ({"code": ["connect"]}, "code is list"),
        ({"permanent": "no"}, "permanent is str"),
    ],
)
def test_an_error_that_history_cannot_hold_is_a_failure(fields: dict[str, Any], named: str) -> None:
    (error,) = errors(failing_with(Error(**{"code": "connect", "message": "refused", **fields})))
    assert error.code == "exception"
    assert named in error.message


def test_an_error_that_is_none_is_a_failure() -> None:
    assert [e.code for e in errors(failing_with("refused"))] == ["exception"]
    assert [e.code for e in errors(fail_unreadably)] == ["exception"]


def test_a_handler_that_cancels_itself_has_failed() -> None:
    (error,) = errors(cancel_itself)
    assert error.code == "exception"


@pytest.mark.parametrize("first_look_ms", [1, TIMEOUT_MS - 1, TIMEOUT_MS, 2 * TIMEOUT_MS])
def test_it_ends_with_its_time_out_and_no_sooner(first_look_ms: int) -> None:
    assert endings(hang, TIMEOUT_MS - 1, first_look_ms=first_look_ms) == []
    assert endings(hang, TIMEOUT_MS, first_look_ms=first_look_ms) == [Stop.TIMEOUT]


@pytest.mark.parametrize(
    ("does", "steps", "looks"),
    [
        (hang, (TIMEOUT_MS // 2 - 1,), 0),
        (hang, (TIMEOUT_MS // 2, TIMEOUT_MS), 1),
        (ignore_cancellation, (TIMEOUT_MS // 2 - 1, Stop.CANCELLED, 1), 1),
        (succeed, (TIMEOUT_MS,), 0),
    ],
)
def test_it_tells_once_that_it_is_still_at_work(
    does: Behaviour, steps: tuple[Stop | int, ...], looks: int
) -> None:
    told: list[None] = []
    endings(does, *steps, at_work=lambda: told.append(None))
    assert len(told) == looks


@pytest.mark.parametrize("reason", list(Stop))
def test_it_ends_by_the_reason_it_was_stopped_for(reason: Stop) -> None:
    assert endings(hang, reason) == [reason]


def test_the_first_reason_counts() -> None:
    steps = (Stop.CANCELLED, Stop.INTERRUPTED, TIMEOUT_MS)
    assert endings(ignore_cancellation, *steps) == [Stop.CANCELLED]


def test_b119_one_that_ignores_being_cancelled_is_abandoned() -> None:
    assert endings(ignore_cancellation, TIMEOUT_MS) == []
    assert endings(ignore_cancellation, TIMEOUT_MS, CANCEL_GRACE_MS) == [Stop.TIMEOUT]


def test_one_that_still_succeeds_has_succeeded() -> None:
    assert endings(succeed_when_cancelled, Stop.CANCELLED) == [Success(b"just in time")]


def test_one_that_fails_while_being_stopped_was_stopped() -> None:
    assert endings(crash_when_cancelled, Stop.INTERRUPTED) == [Stop.INTERRUPTED]


def test_stopping_what_has_ended_changes_nothing() -> None:
    assert endings(succeed, Stop.CANCELLED, TIMEOUT_MS) == [Success(b"1")]
