"""The handler of Python tasks: on the event loop, on threads, in processes."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tocsin.model.runs import Error, Run
from tocsin.tasks import Task, TaskCancelled, TaskContext
from tocsin.tasks.failures import TaskFailed
from tocsin.tasks.performing import perform, perform_async
from tocsin.timetable.instants import to_datetime
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.port import Context, HandlerFailed, Success
from tocsin_worker.handlers.task.link import Link
from tocsin_worker.handlers.task.processes import Processes
from tocsin_worker.handlers.task.protocol import Call
from tocsin_worker.handlers.task.threads import call_on_thread

_LET_GO_SECONDS = 0.9
"""How long a task without heartbeats is waited for, once it was told to stop."""

IDLE_MS = 300_000
"""How long a child process is kept without a call, or up to twice as long."""

_NAMES_SHOWN = 20

Tasks = Mapping[str, Task[..., Any]]


class _Config(msgspec.Struct, frozen=True):
    name: str


class TaskHandler:
    """Executes the tasks it is given; others are `no_handler`, since another worker may have
    them. `modules`: where they are, for child processes to import."""

    type = "task"

    def __init__(self, tasks: Tasks, modules: Sequence[str], idle_ms: int = IDLE_MS) -> None:
        self._tasks = tasks
        self._processes = Processes(modules)
        self._idle_ms = idle_ms
        self._tidying: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """From now on processes that have nothing to do end."""
        self._tidying = asyncio.get_running_loop().create_task(self._tidy())

    async def execute(self, run: Run, context: Context) -> Success:
        task, link = self._task(run), Link()
        work = self._begin(task, run, link)
        work.add_done_callback(_note_exception)
        try:
            await _ended_or_silent(work, link, task.heartbeat_timeout_ms)
        except asyncio.CancelledError:
            _stop(work, link)
            await asyncio.wait((work,))
            if not _has_succeeded(work):
                raise
        return _success(work)

    async def close(self) -> None:
        if self._tidying is not None:
            self._tidying.cancel()
        await call_on_thread("end of tasks", self._processes.close)

    async def _tidy(self) -> None:
        while True:
            await asyncio.sleep(self._idle_ms / 1000)
            await call_on_thread("end of idle", lambda: self._processes.end_idle(self._idle_ms))

    def _task(self, run: Run) -> Task[..., Any]:
        name = read_config(run.handler, _Config).name
        try:
            return self._tasks[name]
        except KeyError:
            known = ", ".join(sorted(self._tasks)[:_NAMES_SHOWN])
            message = f"this worker has no task {name!r}; it has {known}"
            raise HandlerFailed(Error(code="no_handler", message=message)) from None

    def _begin(self, task: Task[..., Any], run: Run, link: Link) -> "asyncio.Future[bytes]":
        name = f"task {task.name}"
        if task.executor is None:
            return _on_loop(task, run, link)
        if task.executor == "process":
            call = _call(task.name, run)
            return call_on_thread(name, lambda: self._processes.perform(call, link))
        context = _context(run, link)
        return call_on_thread(name, lambda: perform(task, run.payload, context))


def _on_loop(task: Task[..., Any], run: Run, link: Link) -> "asyncio.Task[bytes]":
    work = perform_async(task, run.payload, _context(run, link))
    return asyncio.get_running_loop().create_task(work)


def _context(run: Run, link: Link) -> TaskContext:
    return TaskContext(
        run_id=run.run_id,
        tenant=run.tenant,
        job_id=run.job_id,
        attempt=run.attempt,
        max_attempts=run.max_attempts,
        scheduled_time=to_datetime(run.scheduled_time),
        is_cancelled=link.stopped,
        on_heartbeat=link.heard,
    )


def _call(task: str, run: Run) -> Call:
    return Call(
        task=task,
        payload=run.payload,
        run_id=run.run_id,
        tenant=run.tenant,
        job_id=run.job_id,
        attempt=run.attempt,
        max_attempts=run.max_attempts,
        scheduled_time=run.scheduled_time,
    )


async def _ended_or_silent(
    work: "asyncio.Future[bytes]", link: Link, heartbeat_ms: int | None
) -> None:
    """Wait for the end. Raises `HandlerFailed` where the task has not been heard of for so long;
    it is told to stop then, and left to itself if it does not."""
    while heartbeat_ms is not None and not work.done():
        left_ms = heartbeat_ms - link.silent_ms
        if left_ms <= 0:
            _stop(work, link)
            await asyncio.wait((work,), timeout=_LET_GO_SECONDS)
            message = f"no heartbeat of the task within {heartbeat_ms} ms"
            raise HandlerFailed(Error(code="timeout", message=message))
        await asyncio.wait((work,), timeout=left_ms / 1000)
    await asyncio.wait((work,))


def _stop(work: "asyncio.Future[bytes]", link: Link) -> None:
    """A coroutine is cancelled, everything else has to look."""
    link.stop()
    if isinstance(work, asyncio.Task):
        work.cancel()


def _note_exception(work: "asyncio.Future[bytes]") -> None:
    """Of an attempt that was abandoned nobody else asks for it."""
    if not work.cancelled():
        work.exception()


def _has_succeeded(work: "asyncio.Future[bytes]") -> bool:
    return not work.cancelled() and work.exception() is None


def _success(work: "asyncio.Future[bytes]") -> Success:
    try:
        return Success(work.result())
    except TaskFailed as error:
        raise HandlerFailed(error.error) from None
    except TaskCancelled:
        raise asyncio.CancelledError from None
