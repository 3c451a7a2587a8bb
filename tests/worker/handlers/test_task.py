"""The handler of Python tasks: on the loop, on threads, in child processes."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.tasks import sample
from tocsin.model.runs import Error, Run
from tocsin.tasks import Task
from tocsin_worker.handlers.port import HandlerFailed, Success
from tocsin_worker.handlers.task.handler import TaskHandler
from tocsin_worker.testing import CONTEXT, handler_run

MODULES = ["tests.tasks.sample"]
TASKS = {task.name: task for task in vars(sample).values() if isinstance(task, Task)}
PATIENCE = 60

EVERYWHERE = pytest.mark.parametrize("suffix", ["", "_async", "_in_process"])


def named(function: str) -> Task[..., object]:
    task = getattr(sample, function)
    assert isinstance(task, Task)
    return task


def run_of(function: str, payload: object = None, attempt: int = 1) -> Run:
    return handler_run("task", {"name": named(function).name}, payload, attempt=attempt)


def play(scenario: Callable[[TaskHandler], Awaitable[None]]) -> None:
    async def main() -> None:
        handler = TaskHandler(TASKS, MODULES)
        try:
            async with asyncio.timeout(PATIENCE):
                await scenario(handler)
        finally:
            await handler.close()

    asyncio.run(main())


async def result(handler: TaskHandler, run: Run) -> Any:
    success = await handler.execute(run, CONTEXT)
    assert success.result is not None
    return json.loads(success.result)


async def failure(handler: TaskHandler, run: Run) -> Error:
    with pytest.raises(HandlerFailed) as failed:
        await handler.execute(run, CONTEXT)
    return failed.value.error


async def appears(path: Path) -> None:
    """Another thread or process makes it."""
    while not path.exists():  # noqa: ASYNC110, ASYNC240
        await asyncio.sleep(0.005)


def test_the_result_is_what_it_returns() -> None:
    async def scenario(handler: TaskHandler) -> None:
        assert await result(handler, run_of("add", {"a": 1, "b": 2})) == 3
        assert await result(handler, run_of("add", [1])) == 11
        assert await result(handler, run_of("add_async", {"a": 1})) == 11
        added, process = await result(handler, run_of("add_in_process", [1, 2]))
        assert added == 3
        assert process != os.getpid()

    play(scenario)


def test_a_process_is_used_again() -> None:
    async def scenario(handler: TaskHandler) -> None:
        first = await result(handler, run_of("add_in_process", [1]))
        assert await result(handler, run_of("add_in_process", [1])) == first

    play(scenario)


def test_a_process_without_a_call_for_long_is_no_more_and_the_next_call_gets_another() -> None:
    async def main() -> None:
        handler = TaskHandler(TASKS, MODULES, idle_ms=100)
        await handler.open()
        _, process = await result(handler, run_of("add_in_process", [1]))
        async with asyncio.timeout(PATIENCE):
            while psutil.pid_exists(process):  # noqa: ASYNC110 - another thread ends it
                await asyncio.sleep(0.01)
        assert (await result(handler, run_of("add_in_process", [1])))[1] != process
        await handler.close()

    asyncio.run(main())


@EVERYWHERE
def test_it_is_told_of_its_run(suffix: str) -> None:
    async def scenario(handler: TaskHandler) -> None:
        run = run_of(f"tell{suffix}", {"text": "ü"}, attempt=3)
        assert await result(handler, run) == {
            "run_id": run.run_id,
            "attempt": 3,
            "max_attempts": 5,
            "scheduled": "2026-01-01T00:00:00+00:00",
            "text": "ü",
        }

    play(scenario)


@EVERYWHERE
def test_an_exception_is_a_failure_with_its_traceback(suffix: str) -> None:
    async def scenario(handler: TaskHandler) -> None:
        error = await failure(handler, run_of(f"fail{suffix}", {"what": "luck"}))
        assert (error.code, error.permanent) == ("exception", False)
        assert "raise LookupError(what)" in error.message
        assert "luck" in error.message.splitlines()[0]

    play(scenario)


def test_leaving_the_program_on_the_workers_loop_leaves_the_worker_alone() -> None:
    async def scenario(handler: TaskHandler) -> None:
        assert "SystemExit: 3" in (await failure(handler, run_of("leave_async"))).message

    play(scenario)


def test_a_process_that_ends_in_the_middle_is_a_failure_and_the_next_call_gets_another() -> None:
    async def scenario(handler: TaskHandler) -> None:
        error = await failure(handler, run_of("crash"))
        assert (error.code, error.permanent) == ("exit_code", False)
        assert "has ended with exit code 3" in error.message
        assert await result(handler, run_of("add_in_process", [1]))

    play(scenario)


def test_a_task_that_is_not_here_may_be_elsewhere() -> None:
    async def scenario(handler: TaskHandler) -> None:
        error = await failure(handler, handler_run("task", {"name": "shop.report"}))
        assert (error.code, error.permanent) == ("no_handler", False)
        assert (
            "this worker has no task 'shop.report'; it has sample.add_in_process" in error.message
        )

    play(scenario)


def test_a_configuration_without_a_name_is_a_failure_for_good() -> None:
    async def scenario(handler: TaskHandler) -> None:
        error = await failure(handler, handler_run("task"))
        assert (error.code, error.permanent) == ("invalid", True)

    play(scenario)


@pytest.mark.parametrize(
    "function",
    [
        "until_cancelled",
        "until_cancelled_async",
        "until_cancelled_in_process",
        "stubborn_in_process",
    ],
)
def test_when_it_is_to_end_it_is_told_and_a_process_that_does_not_is_killed(
    function: str, tmp_path: Path
) -> None:
    async def scenario(handler: TaskHandler) -> None:
        begun = tmp_path / "begun"
        run = run_of(function, {"begun": str(begun)})
        attempt = asyncio.ensure_future(handler.execute(run, CONTEXT))
        await appears(begun)
        attempt.cancel()
        with pytest.raises(asyncio.CancelledError):
            await attempt

    play(scenario)


def test_a_killed_process_is_no_more(tmp_path: Path) -> None:
    async def scenario(handler: TaskHandler) -> None:
        begun = tmp_path / "begun"
        run = run_of("stubborn_in_process", {"begun": str(begun)})
        attempt = asyncio.ensure_future(handler.execute(run, CONTEXT))
        await appears(begun)
        attempt.cancel()
        await asyncio.wait((attempt,))
        with pytest.raises(ProcessLookupError):
            os.kill(int(begun.read_text()), 0)

    play(scenario)


def test_b119_a_thread_that_does_not_listen_holds_nobody_up(tmp_path: Path) -> None:
    """A hundred of them: no pool is used up."""

    async def scenario(handler: TaskHandler) -> None:
        end, attempts = tmp_path / "end", []
        for number in range(100):
            begun = tmp_path / f"begun-{number}"
            run = run_of("stubborn", {"begun": str(begun), "end": str(end)})
            attempts.append(asyncio.ensure_future(handler.execute(run, CONTEXT)))
            await appears(begun)
        for attempt in attempts:
            attempt.cancel()
        assert await result(handler, run_of("add", [1])) == 11
        end.touch()
        assert all(isinstance(one, Success) for one in await asyncio.gather(*attempts))

    play(scenario)


def test_without_a_heartbeat_in_time_it_has_failed(tmp_path: Path) -> None:
    async def scenario(handler: TaskHandler) -> None:
        error = await failure(handler, run_of("falls_silent", {"begun": str(tmp_path / "b")}))
        assert (error.code, error.message) == ("timeout", "no heartbeat of the task within 200 ms")

    play(scenario)


def test_with_heartbeats_it_may_go_on_for_longer_than_between_two() -> None:
    async def scenario(handler: TaskHandler) -> None:
        await result(handler, run_of("add_in_process", [1]))
        assert await result(handler, run_of("beats_in_process", [12])) == 12

    play(scenario)


def test_closed_it_leaves_no_process_behind(tmp_path: Path) -> None:
    async def main() -> None:
        handler = TaskHandler(TASKS, MODULES)
        _, process = await result(handler, run_of("add_in_process", [1]))
        await handler.close()
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

    asyncio.run(main())
