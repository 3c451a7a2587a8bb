"""What a task is told of the run that it executes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime


class TaskCancelled(BaseException):
    """The attempt is to end: cancelled, out of time, or its worker stops.

    Not an `Exception`, so that `except Exception` in a task does not keep it going.
    """


def _never() -> bool:
    return False


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """A parameter annotated with it gets it; whoever calls the function directly makes one.

    run_id: the same for all attempts, and so the key by which a repetition is known; delivery is
    at least once. attempt: counts from 1. scheduled_time: aware, UTC.
    """

    run_id: str
    tenant: str
    job_id: str
    attempt: int
    max_attempts: int
    scheduled_time: datetime
    is_cancelled: Callable[[], bool] = field(default=_never, repr=False, compare=False)
    on_heartbeat: Callable[[], None] = field(default=_nothing, repr=False, compare=False)

    @property
    def cancelled(self) -> bool:
        """Whether the attempt is to end. A blocking task has to look; an async one is cancelled."""
        return self.is_cancelled()

    def heartbeat(self) -> None:
        """Say that the task gets on, for one with a `heartbeat_timeout`; a good moment to stop:
        raises `TaskCancelled` where the attempt is to end. Cheap enough for an inner loop."""
        if self.is_cancelled():
            raise TaskCancelled
        self.on_heartbeat()
