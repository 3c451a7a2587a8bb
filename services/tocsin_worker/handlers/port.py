"""The port of a handler: what a worker asks of it, and what it may expect.

A handler of your own is a class with `type`, `execute` and `close`, and an entry point of the
group `tocsin.handlers` whose name is the type and whose value makes the handler from `Equipment`:

    [project.entry-points."tocsin.handlers"]
    acme-mail = "acme_tocsin:mail_handler"

Its configuration is judged by the API where the group `tocsin.handler_checks` has the type, too.

Every handler that comes with Tocsin passes the suite in `tocsin_worker.testing`; let yours, too.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tocsin.model.runs import Error, Run
from tocsin.settings import Settings
from tocsin_worker.handlers.secrets import Secrets


async def _anywhere(host: str) -> None:
    """There is no limit."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a handler is told beside the run.

    started_time: epoch milliseconds. enter_host: to be awaited before a host is called other than
    that of the configuration's `url`, such as after a redirect; it answers when the worker's limit
    for hosts lets the run in there.
    """

    worker: str
    started_time: int
    enter_host: Callable[[str], Awaitable[None]] = _anywhere


@dataclass(frozen=True, slots=True)
class Success:
    """The run did what it should. `result`: JSON that history keeps, at most 64 KiB of it."""

    result: bytes | None = None


@dataclass(frozen=True, slots=True)
class Deferred:
    """The run goes on elsewhere, without a slot here, until somebody completes it
    (`POST /v1/runs/{run_id}/complete`) or its time-out ends it. `result` as in `Success`."""

    result: bytes | None = None


class HandlerFailed(Exception):
    """The attempt failed; `error` says why, and whether another can help.

    `result`: what history keeps beside the error, such as an answer or the end of an output.
    """

    def __init__(self, error: Error, result: bytes | None = None) -> None:
        super().__init__(f"{error.code}: {error.message}")
        self.error = error
        self.result = result


class RunHandler(Protocol):
    """Executes the runs of one handler type.

    Delivery is at least once: the run id is the key by which a target can tell a repetition.
    """

    @property
    def type(self) -> str:
        """The word in a job's `handler.type`."""

    async def execute(self, run: Run, context: Context) -> Success | Deferred:
        """One attempt, on the event loop, which it must not block.

        Many attempts run at the same time. Raises `HandlerFailed`; anything else that is raised
        becomes a failure `exception`. When the attempt is to end (time-out, cancel, lease lost,
        shutdown) it is cancelled; it should let go within a second and re-raise
        `CancelledError`. One that does not is abandoned: its slot and its result are gone.
        """

    async def close(self) -> None:
        """Let go of what is held between runs. May be called without any run before, and twice.
        When the worker ends, all handlers close at the same time, in what is left of the grace; one
        that takes longer is cancelled, and left behind if it ignores that."""


@runtime_checkable
class OpeningHandler(Protocol):
    """A handler that has something to do when its worker starts."""

    async def open(self) -> None:
        """Called once on the event loop, which it must not block, before the first run; together
        with those of other handlers. What it raises is logged and stops nothing: the runs will meet
        the same trouble, and tell of it. So does one that takes more than 30 s: it is cancelled."""


@dataclass(frozen=True, slots=True)
class Equipment:
    """What a worker hands to the factory of each of its handlers. `worker`: its unique name."""

    worker: str
    settings: Settings
    secrets: Secrets


Factory = Callable[[Equipment], RunHandler]
"""Makes a handler when a worker starts, outside the event loop. Raises `ValueError` with a
sentence where the settings do not allow it."""
