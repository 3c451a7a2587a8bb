"""A child process that cannot outlive this one."""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from tocsin.broker.local import guard


class Guarded:
    """A program under `guard.py`: dead at the latest when this process is.

    It stands in a session of its own, so that Ctrl-C at the terminal reaches the services that
    still need it and not the program.
    """

    def __init__(
        self,
        command: Sequence[str],
        log: Path,
        when_orphaned: Sequence[Sequence[str]] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; what it prints is appended to `log`. Without `environment` it has ours."""
        order = json.dumps(
            {"command": list(command), "when_orphaned": list(map(list, when_orphaned))}
        )
        with log.open("ab") as output:
            self._guard = subprocess.Popen(  # noqa: S603 — an argument list made here, no shell
                [sys.executable, "-I", guard.__file__, order],
                stdin=subprocess.PIPE,
                bufsize=0,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env=environment,
            )

    def alive(self) -> bool:
        return self._guard.poll() is None

    def end(self, how: signal.Signals, timeout_s: float) -> bool:
        """Send a signal and wait; False if the program still runs when the time is up.

        A program that has ended already counts as ended.
        """
        self.send(how)
        return self.ends_within(timeout_s)

    def send(self, how: signal.Signals) -> None:
        """Send a signal, unless the program has ended."""
        if self.alive():
            with suppress(BrokenPipeError):  # it has ended since
                self._pipe.write(f"{how.name}\n".encode())

    def ends_within(self, timeout_s: float) -> bool:
        """Wait for the end; False if the program still runs when the time is up."""
        try:
            self._guard.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self._pipe.close()
        return True

    @property
    def _pipe(self) -> IO[bytes]:
        pipe = self._guard.stdin
        assert pipe is not None, "the guard was started with a pipe"
        return pipe
