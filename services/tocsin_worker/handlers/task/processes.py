"""Child processes for tasks that block: kept for the next call as long as there are calls, killed
when one will not end."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

from tocsin import clock
from tocsin.model.runs import Error
from tocsin.tasks.context import TaskCancelled
from tocsin.tasks.failures import TaskFailed
from tocsin_worker.handlers.task.link import Link
from tocsin_worker.handlers.task.protocol import Begin, Call, Done, Failed

KILL_AFTER_MS = 500
"""How long a task that was told to stop may take; the execution waits for a second."""

_LOOK_SECONDS = 0.1
_PROGRAM = "tocsin_worker.handlers.task.child"


class Processes:
    """The children of one worker. `perform` blocks; any number of threads may be in it."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = tuple(modules)
        self._lock = Lock()
        self._idle: dict[_Process, int] = {}
        self._all: set[_Process] = set()
        self._closed = False

    def perform(self, call: Call, link: Link) -> bytes:
        """The result in JSON. Raises `TaskFailed`, or `TaskCancelled` when the link has stopped
        it, if need be by killing its process."""
        process = self._take()
        try:
            result = process.perform(call, link)
        except TaskFailed:
            self._give_back(process)
            raise
        except BaseException:
            self._drop(process)
            raise
        self._give_back(process)
        return result

    def close(self) -> None:
        """Kill whatever there is, at work or not."""
        with self._lock:
            self._closed = True
            left, self._all, self._idle = self._all, set(), {}
        for process in left:
            process.kill()

    def end_idle(self, for_ms: int) -> None:
        """Kill those that have had no call for so long: the next call takes the one that was used
        last, so what a peak has left behind is not used again before the next."""
        before = clock.monotonic_ms() - for_ms
        with self._lock:
            idle = [process for process, since in self._idle.items() if since <= before]
            for process in idle:
                del self._idle[process]
        for process in idle:
            self._drop(process)

    def _take(self) -> "_Process":
        with self._lock:
            if self._closed:
                raise TaskCancelled
            if self._idle:
                return self._idle.popitem()[0]
            process = _Process(self._modules)
            self._all.add(process)
            return process

    def _give_back(self, process: "_Process") -> None:
        if not process.lives:
            self._drop(process)
            return
        with self._lock:
            self._idle[process] = clock.monotonic_ms()

    def _drop(self, process: "_Process") -> None:
        with self._lock:
            self._all.discard(process)
        process.kill()


class _Process:
    """One child; used by one thread at a time."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        ours, theirs = socket.socketpair()
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 — this very program
                [sys.executable, "-m", _PROGRAM, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        self._connection: Connection[Any, Any] = Connection(ours.detach())
        self._connection.send(Begin(modules))
        self.lives = True

    def perform(self, call: Call, link: Link) -> bytes:
        try:
            self._connection.send(call)
            return self._result(link)
        except (EOFError, OSError):
            self.lives = False
            raise TaskFailed(Error(code="exit_code", message=self._end())) from None

    def kill(self) -> None:
        """At once, with whatever it has started in its session. It may have ended already."""
        self.lives = False
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._connection.close()

    def _result(self, link: Link) -> bytes:
        stopped_at: int | None = None
        while True:
            if self._connection.poll(_LOOK_SECONDS):
                message = self._connection.recv()
                if message != "beat":
                    return _taken(message)
                link.heard()
            elif stopped_at is not None and clock.monotonic_ms() - stopped_at >= KILL_AFTER_MS:
                raise TaskCancelled
            if stopped_at is None and link.stopped():
                self._connection.send("stop")
                stopped_at = clock.monotonic_ms()

    def _end(self) -> str:
        code = self._process.wait()
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        return f"the process of the task has ended {how} in the middle of it"


def _taken(message: object) -> bytes:
    if isinstance(message, Done):
        return message.result
    if isinstance(message, Failed):
        raise TaskFailed(message.error)
    raise TaskCancelled
