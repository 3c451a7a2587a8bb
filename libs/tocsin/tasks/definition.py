"""A task: a function, its name, and what a job that runs it is made of."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar, overload

from tocsin.tasks.arguments import TaskSignature
from tocsin.tasks.failures import delay_ms
from tocsin.tasks.registry import register

if TYPE_CHECKING:
    from tocsin.client import Client, Job
    from tocsin.tasks.sending import Enqueued

P = ParamSpec("P")
R = TypeVar("R")

Executor = Literal["thread", "process"]
Delay = str | float | timedelta


class Task(Generic[P, R]):
    """Made by `task`. Called, it is the function itself, here and now.

    name: what jobs say; the same in every release, as long as there are jobs. executor: where a
    worker runs it; None for an async function, which runs on the worker's event loop.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        executor: Executor = "thread",
        heartbeat_timeout: Delay | None = None,
        fields: Mapping[str, object],
    ) -> None:
        """Raises TypeError for what cannot be a task."""
        _check(function)
        update_wrapper(self, function)
        self.function = function
        self.name = name or f"{function.__module__}.{function.__qualname__}"
        self.executor = None if inspect.iscoroutinefunction(function) else executor
        self.heartbeat_timeout_ms = (
            None if heartbeat_timeout is None else delay_ms(heartbeat_timeout)
        )
        self.signature = TaskSignature(function)
        self.fields = dict(fields)

    def __repr__(self) -> str:
        return f"<Task {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def schedule(
        self,
        job_id: str | None = None,
        *,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
        fields: Mapping[str, object] | None = None,
        client: "Client | None" = None,
        **schedule: object,
    ) -> "Job":
        """Create the job `job_id` (by default the task's name), or replace it.

        schedule: `cron`, `every`, `at` or `rrule`, with `timezone` and the rest as in a job's
        `schedule`. fields: other fields of the job, such as `overlap` or `tags`. client: None =
        one by the environment. Raises what `Client.put` raises, TypeError where the arguments do
        not fit the function.
        """
        from tocsin.tasks import sending

        payload = self.signature.payload(args, kwargs or {})
        return sending.put(client, job_id or self.name, self._job(fields), schedule, payload)

    def enqueue(
        self,
        *args: object,
        delay: Delay | None = None,
        at: datetime | None = None,
        client: "Client | None" = None,
        **kwargs: object,
    ) -> "Enqueued":
        """Run it once, with these arguments: now, after a delay, or at a time.

        For a function with a parameter `delay`, `at` or `client` take `schedule(at=…, kwargs=…)`.
        Raises as `schedule`.
        """
        from tocsin.tasks import sending

        if delay is not None and at is not None:
            raise TypeError("give one of delay and at")
        payload = self.signature.payload(args, kwargs)
        after_ms = 0 if delay is None else delay_ms(delay)
        return sending.enqueue(client, self.name, self._job(None), payload, after_ms, at)

    def _job(self, fields: Mapping[str, object] | None) -> dict[str, object]:
        handler = {"type": "task", "name": self.name}
        return {**self.fields, **(fields or {}), "handler": handler}


@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    retry: int | Mapping[str, object] | None = None,
    timeout: Delay | None = None,
    executor: Executor = "thread",
    heartbeat_timeout: Delay | None = None,
    **fields: object,
) -> Callable[[Callable[P, R]], Task[P, R]]: ...
def task(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    retry: int | Mapping[str, object] | None = None,
    timeout: Delay | None = None,
    executor: Executor = "thread",
    heartbeat_timeout: Delay | None = None,
    **fields: object,
) -> object:
    """Make a function a task, known by its name to the workers that import its module.

    name: by default `module.function`. retry: of its jobs; a number is `max_attempts`. timeout:
    an attempt's. executor: of a blocking function, `thread` or `process`; only a process can be
    ended while it works, and only processes use several cores. heartbeat_timeout: an attempt has
    failed if it has not called `TaskContext.heartbeat` for so long. fields: others of its jobs,
    such as `pool`, `priority`, `overlap`, `tags`.
    """
    if retry is not None:
        fields["retry"] = {"max_attempts": retry} if isinstance(retry, int) else retry
    if timeout is not None:
        fields["timeout"] = timedelta(milliseconds=delay_ms(timeout))

    def make(function: Callable[P, R]) -> Task[P, R]:
        made = Task(
            function,
            name=name,
            executor=executor,
            heartbeat_timeout=heartbeat_timeout,
            fields=fields,
        )
        register(made)
        return made

    return make if function is None else make(function)


def _check(function: Callable[..., object]) -> None:
    if not inspect.isfunction(function):
        raise TypeError(f"{function!r} is not a function: a task is `def` or `async def`")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{function.__qualname__} is a generator, which cannot be a task")
