"""What a task raises, as the failure that history keeps."""

import inspect
from datetime import timedelta
from traceback import TracebackException
from types import TracebackType

from tocsin.durations import parse_typed_duration_ms
from tocsin.model.runs import Error

HEAD_CHARS = 1_000
TRACEBACK_CHARS = 6_000
"""So much of a traceback is kept: its first frames and, mostly, its last."""

_FIRST_CHARS = 1_000


class GiveUp(Exception):
    """Raised by a task: it has failed, and no other attempt can help."""


class RetryAfter(Exception):
    """Raised by a task: this attempt has failed; the next should not be sooner than this.

    Bounded by the job's `retry.max`, and only while attempts are left.
    """

    def __init__(self, delay: str | float | timedelta, reason: str = "") -> None:
        """`delay`: seconds, a timedelta, or `90s`, `5m`, `2h`."""
        super().__init__(delay, reason)
        self.delay_ms = delay_ms(delay)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason or f"to be tried again after {self.delay_ms} ms"


class TaskFailed(Exception):
    """An attempt at a task has failed, as `error` says."""

    def __init__(self, error: Error) -> None:
        super().__init__(error)
        self.error = error


def delay_ms(delay: str | float | timedelta) -> int:
    """Milliseconds. Raises ValueError for what is no duration or negative."""
    if isinstance(delay, str):
        return parse_typed_duration_ms(delay, minimum_ms=0)
    if not isinstance(delay, timedelta):
        delay = timedelta(seconds=delay)
    if delay < timedelta(0):
        raise ValueError(f"{delay} is negative")
    return round(delay / timedelta(milliseconds=1))


def failed(error: BaseException) -> TaskFailed:
    """The failure for what a task raised."""
    return TaskFailed(
        Error(
            code="exception",
            message=describe(error),
            permanent=isinstance(error, GiveUp),
            retry_after_ms=error.delay_ms if isinstance(error, RetryAfter) else None,
        )
    )


def invalid(message: str) -> TaskFailed:
    """The failure of a call that can never succeed."""
    return TaskFailed(Error(code="invalid", message=message, permanent=True))


def describe(error: BaseException) -> str:
    """What was raised, then its traceback without the frames of Tocsin; both bounded."""
    told = TracebackException.from_exception(error.with_traceback(_own(error.__traceback__)))
    head = "".join(told.format_exception_only()).strip()
    return f"{_cut(head, HEAD_CHARS, HEAD_CHARS)}\n\n{_bounded(''.join(told.format()))}"


def _bounded(trace: str) -> str:
    return _cut(trace.strip(), TRACEBACK_CHARS, _FIRST_CHARS)


def _cut(text: str, most: int, first: int) -> str:
    if len(text) <= most:
        return text
    last = most - first
    return f"{text[:first]}\n… {len(text) - most} characters …\n{text[len(text) - last :]}"


def _own(trace: TracebackType | None) -> TracebackType | None:
    """From the first frame on that is the task's; all where there is none, as for a call with
    the wrong arguments."""
    entry = trace
    while entry is not None and _is_tocsins(entry):
        entry = entry.tb_next
    return entry or trace


def _is_tocsins(entry: TracebackType) -> bool:
    module = inspect.getmodulename(entry.tb_frame.f_code.co_filename)
    name = str(entry.tb_frame.f_globals.get("__name__", module))
    return name.partition(".")[0] in ("tocsin", "tocsin_worker")
