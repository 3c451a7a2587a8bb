"""A scheduler as a process of its own, and its program: `python scheduler_process.py`."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self
from urllib.request import urlopen
from uuid import uuid4

from tests.integration.waiting import eventually
from tocsin.logs import configure_logging
from tocsin.settings import load_settings
from tocsin_scheduler.service import run_scheduler

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class SchedulerProcess:
    """Use in a `with` block, at the end of which it is killed if it has not been stopped."""

    def __init__(
        self,
        bootstrap: str,
        prefix: str,
        folder: Path,
        node: str | None = None,
        *,
        waits: bool = False,
        program: Path = Path(__file__),
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """waits: the process gets ready, but begins only at `begin`. program: another than
        this one, which finds `environment` beside the settings."""
        folder.mkdir(exist_ok=True)
        self.log = folder / f"scheduler-{uuid4().hex}.log"
        variables = {
            **os.environ,
            **environment,
            "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("libs", "services", ".")),
            "TOCSIN_BROKERS": bootstrap,
            "TOCSIN_PREFIX": prefix,
            "TOCSIN_STATE_DIR": str(folder),
            "TOCSIN_LISTEN": "127.0.0.1:0",
            "TOCSIN_NODE_ID": node or "",
        }
        if waits:
            variables["WAITS"] = "yes"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(program)],
                env=variables,
                stdin=subprocess.PIPE if waits else subprocess.DEVNULL,
                stderr=log,
                stdout=log,
            )

    def begin(self) -> None:
        """Let a process that waits begin."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def status(self) -> dict[str, Any]:
        """What `/status` shows; empty while nothing is served yet."""
        lines = [line for line in self.lines() if line.get("action") == "listening"]
        if not lines:
            assert self.process.poll() is None, self.log.read_text()
            return {}
        with urlopen(f"http://127.0.0.1:{lines[0]['port']}/status", timeout=PATIENCE) as answer:
            status: dict[str, Any] = json.load(answer)
        return status

    def owned(self) -> set[int]:
        lines = self.status().get("partitions", [])
        return {line["partition"] for line in lines if line["phase"] == "owned"}

    def await_owned(self, count: int) -> None:
        eventually(lambda: len(self.owned()) == count, PATIENCE)

    def lines(self) -> list[dict[str, Any]]:
        """What it has logged."""
        text = self.log.read_text()
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]

    def actions(self) -> set[str]:
        return {str(line["action"]) for line in self.lines()}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.kill()
        self.begin()


if __name__ == "__main__":
    configure_logging()
    if "WAITS" in os.environ:
        logging.getLogger(__name__).info("waits", extra={"action": "waits"})
        sys.stdin.read()
    sys.exit(run_scheduler(load_settings(os.environ)))
