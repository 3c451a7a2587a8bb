"""Several processes of one service under a parent that starts each again when it dies.

    parent ──► process 0, process 1, …     told to stop when the parent is, and when it is gone

A process that was killed, or ended by an error, is started again after a pause, which doubles with
each such end and is short again once a process has lasted. What no repetition helps ends them all:
wrong settings, or a conflict with another process of the same node id soon after the start. One
that has lasted and meets a conflict is started again: the Kafka client may also have taken itself
for another, after it was held up for longer than its session lasts.
"""

import ctypes
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence

from tocsin import clock
from tocsin_cli.failures import CONFLICT, INVALID

LOG = logging.getLogger(__name__)

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 1_000, 30_000
LASTING_MS = 60_000
LOOK_EVERY_S = 0.1

_PR_SET_PDEATHSIG = 1

Start = Callable[[int], subprocess.Popen[bytes]]


class Supervised:
    """Process `number`, over all its lives."""

    def __init__(self, number: int, start: Start) -> None:
        self._number = number
        self._start = start
        self._pause_ms = FIRST_PAUSE_MS
        self._not_before = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._started_ms = 0

    def look(self, now_ms: int) -> int | None:
        """Start it where that is due; the exit code with which it has ended for good."""
        if self._process is None:
            if now_ms >= self._not_before:
                self._begin(now_ms)
            return None
        code = self._process.poll()
        if code is None or self._is_final(code, now_ms):
            return code
        self._rest(code, now_ms)
        return None

    def stop(self) -> None:
        """Tell it to stop."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Its exit code, once it was told to stop; blocks until it has ended."""
        code = 0 if self._process is None else self._process.wait()
        return 0 if code == -signal.SIGTERM else abs(code)

    def _begin(self, now_ms: int) -> None:
        self._process = self._start(self._number)
        self._started_ms = now_ms
        LOG.info(
            "process %d has started, pid %d",
            self._number,
            self._process.pid,
            extra={"action": "process_started", "number": self._number, "pid": self._process.pid},
        )

    def _is_final(self, code: int, now_ms: int) -> bool:
        return code == INVALID or (code == CONFLICT and not self._has_lasted(now_ms))

    def _has_lasted(self, now_ms: int) -> bool:
        return now_ms - self._started_ms >= LASTING_MS

    def _rest(self, code: int, now_ms: int) -> None:
        if self._has_lasted(now_ms):
            self._pause_ms = FIRST_PAUSE_MS
        LOG.error(
            "process %d has ended by itself with %d; it is started again in %d ms",
            self._number,
            code,
            self._pause_ms,
            extra={"action": "process_ended", "number": self._number, "code": code},
        )
        self._process = None
        self._not_before = now_ms + self._pause_ms
        self._pause_ms = min(2 * self._pause_ms, LONGEST_PAUSE_MS)


def supervise(number: int, start: Start) -> int:
    """Keep so many processes going until SIGTERM or SIGINT, or until one ends for good. The exit
    code is that one's, else the largest. Must be called on the main thread."""
    stop = threading.Event()
    for which in (signal.SIGTERM, signal.SIGINT):
        signal.signal(which, lambda *_: stop.set())
    processes = [Supervised(each, start) for each in range(number)]
    final: list[int] = []
    while not final and not stop.wait(LOOK_EVERY_S):
        now = clock.monotonic_ms()
        codes = [process.look(now) for process in processes]
        final = [code for code in codes if code is not None]
    for process in processes:
        process.stop()
    ended = [process.wait() for process in processes]
    return max(final or ended)


def start_command(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """`tocsin` with these arguments; told to stop when this process is gone, however it went."""
    return subprocess.Popen(  # noqa: S603 — our own program
        [sys.executable, "-m", "tocsin_cli", *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        preexec_fn=_stop_with_the_parent,
    )


def _stop_with_the_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
