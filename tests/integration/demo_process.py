"""`tocsin demo` as a process of its own, and all that it starts."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psutil

from tests.integration.waiting import eventually

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0
MARK = "DEMO_TEST"
"""A variable of the environment, which every descendant inherits, also one without a parent."""


class DemoProcess:
    """Runs in `folder`. `output`: what it has printed so far."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self._mark = uuid4().hex
        self._log = folder / "demo.txt"
        self.folder = folder
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")
        }
        self.environment = inherited | {
            "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("libs", "services")),
            MARK: self._mark,
            **environment,
        }
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tocsin_cli", "demo"],
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def output(self) -> str:
        return self._log.read_text("utf-8")

    def await_output(self, *texts: str) -> None:
        """Until all of them have been printed."""

        def printed() -> bool:
            assert self.process.poll() is None, self.output
            return all(text in self.output for text in texts)

        eventually(printed, PATIENCE)

    def await_end(self) -> int:
        """The exit code."""
        return self.process.wait(PATIENCE)

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """A shell's answer in the same folder, in an environment that names no installation."""
        environment = {
            name: value
            for name, value in self.environment.items()
            if name != MARK and not name.startswith("TOCSIN_")
        }
        return subprocess.run(
            ["/bin/sh", "-c", script],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def living(self, *words: str) -> list[psutil.Process]:
        """The process and its descendants, those whose command line has all of `words`."""
        return [
            process
            for process in psutil.process_iter()
            if _mark_of(process) == self._mark and set(words) <= set(_command_of(process))
        ]

    def await_nobody(self) -> None:
        """Until none of them is left."""
        eventually(lambda: not self.living(), 20.0)


@contextmanager
def demo_process(folder: Path, **environment: str) -> Iterator[DemoProcess]:
    """Killed at the end of the block if it still runs."""
    demo = DemoProcess(folder, **environment)
    try:
        yield demo
    finally:
        if demo.process.poll() is None:
            demo.process.send_signal(signal.SIGKILL)
            demo.process.wait()


def _mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None


def _command_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
