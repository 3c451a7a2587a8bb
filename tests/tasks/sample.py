"""Tasks that tests run, in this process and in children of it."""

import asyncio
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tocsin.tasks import GiveUp, RetryAfter, TaskContext, task


@task
def add(a: int, b: int = 10) -> int:
    return a + b


@task(name="sample.add_in_process", executor="process")
def add_in_process(a: int, b: int = 10) -> tuple[int, int]:
    return a + b, os.getpid()


@task
async def add_async(a: int, b: int = 10) -> int:
    await asyncio.sleep(0)
    return a + b


@dataclass(frozen=True)
class Told:
    run_id: str
    attempt: int
    max_attempts: int
    scheduled: str
    text: str


def _told(run: TaskContext, text: str) -> Told:
    scheduled = run.scheduled_time.isoformat()
    return Told(run.run_id, run.attempt, run.max_attempts, scheduled, text)


@task
def tell(run: TaskContext, text: str) -> Told:
    return _told(run, text)


@task
async def tell_async(text: str, *, run: "TaskContext") -> Told:
    return _told(run, text)


@task(executor="process")
def tell_in_process(text: str, run: TaskContext) -> Told:
    return _told(run, text)


def _deep(levels: int, what: str) -> None:
    if levels:
        _deep(levels - 1, what)
    raise LookupError(what)


@task
def fail(what: str, levels: int = 0) -> None:
    try:
        _deep(levels, what)
    except LookupError as error:
        raise RuntimeError(f"no {what}") from error


@task(executor="process")
def fail_in_process(what: str) -> None:
    _deep(3, what)


@task
async def fail_async(what: str) -> None:
    _deep(3, what)


@task
def give_up() -> None:
    raise GiveUp("there is no such account")


@task
def come_back() -> None:
    raise RetryAfter("5m", "the ledger is closed")


@task
def leave() -> None:
    sys.exit(3)


@task
async def leave_async() -> None:
    sys.exit(3)


@task
def give_an_object() -> object:
    return object()


@task(executor="process")
def crash() -> None:
    os._exit(3)


@task
def until_cancelled(begun: str, run: TaskContext) -> None:
    """Says that it has begun by making a file."""
    Path(begun).touch()
    while True:
        run.heartbeat()
        time.sleep(0.005)


@task
def stubborn(begun: str, end: str) -> None:
    """Ends only when somebody makes a file, whatever it is told."""
    Path(begun).touch()
    while not Path(end).exists():
        time.sleep(0.005)


@task(executor="process")
def stubborn_in_process(begun: str) -> None:
    whole = Path(begun).with_suffix(".whole")
    whole.write_text(str(os.getpid()))
    whole.rename(begun)
    time.sleep(3_600)


@task(executor="process")
def until_cancelled_in_process(begun: str, run: TaskContext) -> None:
    Path(begun).touch()
    while True:
        run.heartbeat()
        time.sleep(0.005)


@task
async def until_cancelled_async(begun: str) -> None:
    await asyncio.to_thread(Path(begun).touch)
    await asyncio.Event().wait()


@task(heartbeat_timeout=0.2)
def falls_silent(begun: str, run: TaskContext) -> None:
    run.heartbeat()
    Path(begun).touch()
    while not run.cancelled:
        time.sleep(0.005)


@task(heartbeat_timeout=0.5, executor="process")
def beats_in_process(times: int, run: TaskContext) -> int:
    for _ in range(times):
        run.heartbeat()
        time.sleep(0.1)
    return times
