"""Schedulers, workers and gateways as processes, watched from outside."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from tests.bench.processes import plain_environ
from tests.bench.waiting import until

Kind = Literal["scheduler", "worker", "gateway"]

STOP_S = 45.0
READY_S = 120.0
RESTORE_S = 900.0
"""For a start that has to restore many jobs first."""
_LAST_LINES = 5


class ServiceEnded(Exception):
    """A process that should be at work has gone; the message holds the end of its log."""


class Service:
    """A process that has been started. It is ready when `wait_until_ready` has returned."""

    def __init__(self, kind: Kind, environ: Mapping[str, str], log: Path) -> None:
        self.kind = kind
        self.port = _free_port()
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.service_process", kind],
                env={**plain_environ(), **environ, "TOCSIN_LISTEN": f"127.0.0.1:{self.port}"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._seen = psutil.Process(self._process.pid)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self, patience_s: float = READY_S) -> None:
        """Raises ServiceEnded, WaitedTooLong."""
        until(self.is_ready, f"the {self.kind} is ready", patience_s=patience_s, every_s=0.05)

    def is_ready(self) -> bool:
        self.check()
        try:
            with urlopen(f"{self.url}/healthz/ready", timeout=5):
                return True
        except (URLError, OSError):
            return False

    def check(self) -> None:
        """Raises ServiceEnded where the process is gone."""
        if self._process.poll() is not None:
            raise ServiceEnded(
                f"the {self.kind} ended with {self._process.returncode}; its log: {self._end()}"
            )

    def page(self, path: str) -> Any:
        """A JSON page of its health server."""
        with urlopen(f"{self.url}{path}", timeout=10) as answer:
            return json.load(answer)

    def metric(self, name: str) -> float:
        """The value of a metric, its labels as they are shown; 0 where it is not shown."""
        with urlopen(f"{self.url}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return next(
            (float(line.rsplit()[-1]) for line in lines if line.startswith(f"{name} ")), 0.0
        )

    def pss_mib(self) -> float:
        """Its proportional set size now: what it takes of the machine's memory."""
        return float(self._seen.memory_full_info().pss) / 2**20

    def cpu_s(self) -> float:
        """CPU time since its start, user and system."""
        times = self._seen.cpu_times()
        return float(times.user + times.system)

    def freeze(self) -> None:
        """SIGSTOP: it does nothing until `thaw`, and keeps its connections."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL, and wait for its end."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """SIGTERM, and wait; SIGKILL where that takes too long."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def _end(self) -> str:
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return " | ".join(lines[-_LAST_LINES:])


@contextmanager
def running(service: Service, ready_s: float = READY_S) -> Iterator[Service]:
    """Ready within so many seconds where the block begins, ended after it; with 0 seconds the
    block begins at once."""
    try:
        if ready_s:
            service.wait_until_ready(ready_s)
        yield service
    finally:
        service.stop()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
