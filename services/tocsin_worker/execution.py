"""A handler at work on one attempt: its time-out, its being stopped, its end."""

import asyncio
import logging
from collections.abc import Callable
from enum import Enum

import msgspec

from tocsin.model.runs import Error, Run
from tocsin_worker.handlers.port import Context, Deferred, HandlerFailed, RunHandler, Success
from tocsin_worker.timers import SameDelay, Timer, Timers

LOG = logging.getLogger(__name__)

CANCEL_GRACE_MS = 1_000
"""How long a handler that was cancelled may take to let go."""


_LONGEST_MS = 2**63 - 1
"""What the log can hold."""


class Stop(Enum):
    """Why a handler was made to end."""

    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    """The run goes on elsewhere, or has ended: this attempt alone is not wanted."""
    TIMEOUT = "timeout"
    LEASE_LOST = "lease lost"
    INTERRUPTED = "interrupted"


Answer = Success | Deferred
Ending = Answer | HandlerFailed | Stop


class Execution:
    """Runs a handler in a task of its own.

        running ──returned or raised──────────────────► ended
           └─stop()─► stopping ──let go, or not in time──┘

    A handler that returns while it is being stopped has succeeded. One that ignores being
    cancelled is abandoned: the execution has ended, the task goes on without a slot.
    """

    def __init__(
        self,
        run: Run,
        handler: RunHandler,
        context: Context,
        timers: Timers,
        first_look: SameDelay,
        at_work: Callable[[], None],
        ended: Callable[[Ending], None],
    ) -> None:
        """Starts at once; `ended` is called exactly once, never from inside this call.

        `at_work` is called once if the first look finds that it has not ended. The time-out gets a
        timer of its own only then, where it is the longer one: most runs are short.
        """
        self._run = run
        self._timers = timers
        self._on_end = ended
        self._stop: Stop | None = None
        self._ended = False
        self._task = asyncio.get_running_loop().create_task(handler.execute(run, context))
        self._task.add_done_callback(self._done)
        self._at_work = at_work
        self._first_look = first_look.after(self._look)
        self._timer: Timer | None = None
        self._left_ms = run.timeout_ms - first_look.delay_ms
        if self._left_ms <= 0:
            self._timer = timers.after(run.timeout_ms, self._time_is_up)

    def stop(self, reason: Stop) -> None:
        """Make the handler end. The first reason counts."""
        if self._stop is not None or self._ended:
            return
        self._stop = reason
        self._cancel_timer()
        self._timer = self._timers.after(CANCEL_GRACE_MS, self._abandon)
        self._task.cancel()

    def _look(self) -> None:
        if self._stop is None and self._left_ms > 0:
            self._timer = self._timers.after(self._left_ms, self._time_is_up)
        self._at_work()

    def _time_is_up(self) -> None:
        self.stop(Stop.TIMEOUT)

    def _abandon(self) -> None:
        assert self._stop is not None
        LOG.warning(
            "handler %s ignores being cancelled; it is abandoned",
            self._run.handler.type,
            extra={"action": "handler_abandoned", "run_id": self._run.run_id},
        )
        self._end(self._stop)

    def _done(self, task: "asyncio.Task[Answer]") -> None:
        try:
            ending = self._ending(task)
        except Exception as error:  # noqa: BLE001 - an exception of the handler's own making
            what = type(error).__name__
            ending = _exception(f"the handler ended in a way that cannot be read: {what}")
        if not self._ended:
            self._end(ending)

    def _ending(self, task: "asyncio.Task[Answer]") -> Ending:
        """Reads the task's exception too, so that none is reported as never retrieved."""
        error = None if task.cancelled() else task.exception()
        if not task.cancelled() and error is None:
            return _checked(task.result())
        if self._stop is not None:
            return self._stop
        return _failure(error or asyncio.CancelledError())

    def _end(self, ending: Ending) -> None:
        self._ended = True
        self._first_look.cancel()
        self._cancel_timer()
        self._on_end(ending)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _checked(answer: object) -> Ending:
    """Handlers may be anyone's: a wrong result is a failure, not a broken worker."""
    if not isinstance(answer, Success | Deferred):
        return _exception(f"the handler returned {type(answer).__name__}")
    content: object = answer.result
    if not isinstance(content, bytes | None):
        return _exception(f"the handler's result is {type(content).__name__}, not JSON in bytes")
    return answer


def _failure(error: BaseException) -> HandlerFailed:
    if not isinstance(error, HandlerFailed):
        return _exception(f"{type(error).__name__}: {error}")
    wrong = _wrong_in(error.error)
    if wrong is not None:
        return _exception(f"the handler failed with an error {wrong}")
    content: object = error.result
    return error if isinstance(content, bytes | None) else HandlerFailed(error.error)


def _wrong_in(error: object) -> str | None:
    """What keeps an error out of history; None if nothing does. Its fields are of no type yet."""
    if not isinstance(error, Error):
        return f"of type {type(error).__name__}"
    fields: dict[str, object] = msgspec.structs.asdict(error)
    for name in ("code", "message"):
        if not isinstance(fields[name], str):
            return f"whose {name} is {type(fields[name]).__name__}, not text"
    if not isinstance(fields["permanent"], bool):
        return f"whose permanent is {type(fields['permanent']).__name__}, neither true nor false"
    delay = fields["retry_after_ms"]
    if delay is None or (type(delay) is int and 0 <= delay <= _LONGEST_MS):
        return None
    return "whose retry_after_ms is no whole number of milliseconds"


def _exception(message: str) -> HandlerFailed:
    return HandlerFailed(Error(code="exception", message=message))
