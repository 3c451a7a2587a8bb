"""Schedulers and workers as processes: started, killed, frozen, woken, told to stop."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.request import urlopen

from tests.faults.waiting import until
from tocsin import clock
from tocsin.broker.local.ports import free_port
from tocsin.timetable.instants import parse_instant

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
REQUEST_S = 5.0
LOG_LINES_SHOWN = 80


def tocsin(*arguments: str) -> list[str]:
    """The command line's program."""
    return [sys.executable, "-m", "tocsin_cli", *arguments]


class Service:
    """One process of a service. It belongs to the test, which ends it."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        settings: Mapping[str, str],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`settings`: without `TOCSIN_` in front, and without the address to listen on."""
        self.name = name
        self.log = log
        self._url = f"127.0.0.1:{free_port()}"
        variables = {
            **{key: value for key, value in os.environ.items() if not key.startswith("TOCSIN_")},
            **environment,
            **{f"TOCSIN_{key}": value for key, value in settings.items()},
            "TOCSIN_LISTEN": self._url,
            "PYTHONPATH": os.pathsep.join(
                str(ROOT / folder) for folder in ("libs", "services", ".")
            ),
        }
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    # what is done to it

    def kill(self) -> None:
        """As `kill -9`, frozen or not. Nothing to do if it has ended."""
        self._process.kill()
        self._process.wait()

    def freeze(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def get_stuck(self) -> None:
        """Of a `stuck_scheduler`."""
        self._process.send_signal(signal.SIGUSR1)

    def terminate(self) -> None:
        """Tell it to stop; see `exit_code`."""
        self._process.terminate()

    # what it says

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def exit_code(self) -> int:
        """Wait for the end."""
        until(lambda: self.has_ended, f"the end of {self.name}")
        return self._process.returncode

    def lines(self) -> list[dict[str, Any]]:
        """Its log so far."""
        text = self.log.read_text("utf-8")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def logged(self, action: str) -> list[dict[str, Any]]:
        """The lines of one action."""
        return [line for line in self.lines() if line["action"] == action]

    def page(self, path: str) -> dict[str, Any] | None:
        """What it answers at `path`; None if it does not answer, or not with 200."""
        with suppress(OSError, HTTPException), urlopen(self._at(path), timeout=REQUEST_S) as page:
            answer: dict[str, Any] = json.load(page)
            return answer
        return None

    def until(self, look: Callable[[], T], what: str) -> T:
        """The first true answer of `look`; fails at once if the process has ended."""

        def look_alive() -> T:
            found = look()
            assert found or not self.has_ended, f"{self.name} has ended instead of: {what}"
            return found

        return until(look_alive, f"{self.name} {what}")

    def until_ready(self) -> None:
        self.until(lambda: self.page("/healthz/ready"), "is ready")

    def until_logged(self, action: str) -> None:
        self.until(lambda: self.logged(action), f"logs {action}")

    def owned(self) -> frozenset[int]:
        """The partitions that a scheduler says it owns; none where it does not answer."""
        status = self.page("/status") or {}
        lines = status.get("partitions", [])
        return frozenset(line["partition"] for line in lines if line["phase"] == "owned")

    def until_owning(self, number: int) -> frozenset[int]:
        """The partitions of a scheduler, as soon as it says of a moment after the call that it
        owns so many."""
        now = clock.now_ms()

        def owned() -> frozenset[int]:
            status = self.page("/status") or {}
            lines = status["partitions"] if status.get("time", 0) > now else []
            return frozenset(line["partition"] for line in lines if line["phase"] == "owned")

        return self.until(
            lambda: found if len(found := owned()) == number else frozenset(),
            f"owns {number} partitions",
        )

    def takeover_ms(self, partitions: Collection[int]) -> int:
        """When this scheduler began to take these over, or the last of them, by its log."""
        lines = [line for line in self.logged("partition_phase") if line["phase"] == "fencing"]
        times = {line["partition"]: line["time"] for line in lines}
        return max(parse_instant(times[partition]) for partition in partitions)

    def last_words(self) -> str:
        lines = self.log.read_text("utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES_SHOWN:])

    def _at(self, path: str) -> str:
        return f"http://{self._url}{path}"
