"""The end of a worker's process, whatever handlers have left behind."""

import asyncio
import subprocess
import sys

from tocsin_worker import event_loop

CODE = 3

A_THREAD_IS_AT_WORK = f"""
import asyncio, sys, time
from tocsin_worker import event_loop

async def main():
    asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)
    await asyncio.sleep(0.1)
    return {CODE}

code = event_loop.run(main())
event_loop.leave_if_held_up(code)
sys.exit(code)
"""


async def ignore_cancellation() -> None:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


def test_it_answers_with_what_its_main_coroutine_does() -> None:
    async def main() -> int:
        return CODE

    assert event_loop.run(main()) == CODE


def test_what_is_left_is_cancelled() -> None:
    ended: list[str] = []

    async def leave_a_mark() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def main() -> int:
        task = asyncio.create_task(leave_a_mark())
        await asyncio.sleep(0)
        return CODE if not task.done() else 0

    assert event_loop.run(main()) == CODE
    assert ended == ["cancelled"]


def test_a_task_that_ignores_it_does_not_hold_up_the_end() -> None:
    left: list[asyncio.Task[None]] = []

    async def main() -> int:
        left.append(asyncio.create_task(ignore_cancellation()))
        await asyncio.sleep(0)
        return CODE

    assert event_loop.run(main()) == CODE
    (task,) = left
    assert not task.done()
    task.get_coro().close()
    task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_thread_that_is_still_at_work_does_not_hold_up_the_end() -> None:
    ended = subprocess.run([sys.executable, "-c", A_THREAD_IS_AT_WORK], timeout=60, check=False)
    assert ended.returncode == CODE
