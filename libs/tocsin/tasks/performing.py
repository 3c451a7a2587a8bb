"""One attempt at a task, from the payload to the result, wherever it runs."""

import asyncio
from typing import Any

import msgspec

from tocsin.tasks.context import TaskCancelled, TaskContext
from tocsin.tasks.definition import Task
from tocsin.tasks.failures import failed, invalid


def perform(task: Task[..., Any], payload: bytes | None, context: TaskContext) -> bytes:
    """Call a blocking task; its result as JSON. Raises `TaskFailed` or, where it has given way
    to its cancellation, `TaskCancelled`."""
    call = task.signature.call(payload, context)
    try:
        result = task.function(*call.args, **call.kwargs)
    except TaskCancelled:
        raise
    except BaseException as error:  # noqa: BLE001 — sys.exit() in a task is its failure
        raise failed(error) from None
    return _to_json(result)


async def perform_async(task: Task[..., Any], payload: bytes | None, context: TaskContext) -> bytes:
    """The same for an async task; `CancelledError` leaves it as it does the task."""
    call = task.signature.call(payload, context)
    try:
        result = await task.function(*call.args, **call.kwargs)
    except TaskCancelled:
        raise asyncio.CancelledError from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 — whatever it raises is its failure
        raise failed(error) from None
    return _to_json(result)


def _to_json(result: object) -> bytes:
    """It has done its work, and would do it again: another attempt must not follow."""
    try:
        return msgspec.json.encode(result)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise invalid(f"the task has returned what is not JSON: {error}") from None
