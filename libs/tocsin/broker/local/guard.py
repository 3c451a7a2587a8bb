"""Runs one program and ends it when the process that asked for it is gone, however it went.

    guard.py '{"command": ["java", …], "when_orphaned": [["rm", "-rf", …], …]}'

Standard input is a pipe whose other end only the parent holds. A line on it is the name of a
signal for the program (`SIGTERM`); its end means that the parent has closed it or died, by
`kill -9` too: the program is killed, and the commands of `when_orphaned` are run. Should the
guard itself be killed, Linux kills the program (`prctl(2)`, PR_SET_PDEATHSIG). It ends with the
program, with its exit code. Run by path: it imports nothing of the project.
"""

# ruff: noqa: S603 — it runs what its parent gives it, that is its work

import ctypes
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1


def _die_with_the_guard() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _obey(
    orders: Iterable[str], program: subprocess.Popen[bytes], orphaned: threading.Event
) -> None:
    for order in orders:
        program.send_signal(signal.Signals[order.strip()])
    orphaned.set()
    program.kill()


def main(command: list[str], when_orphaned: list[list[str]]) -> int:
    # The program is started before there is a second thread: a hook between fork and exec is
    # safe only so, and PR_SET_PDEATHSIG watches the very thread that forked.
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_the_guard)
    orphaned = threading.Event()
    threading.Thread(target=_obey, args=(sys.stdin, program, orphaned), daemon=True).start()
    code = program.wait()
    if orphaned.is_set():
        for cleanup in when_orphaned:
            subprocess.run(cleanup, check=False)
    return code


if __name__ == "__main__":
    sys.exit(main(**json.loads(sys.argv[1])))
