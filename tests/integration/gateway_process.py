"""A gateway as a process of its own, and its program: `python gateway_process.py`."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from tocsin.client import Client

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


class GatewayProcess:
    """Use in a `with` block, at the end of which it is stopped or killed."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        """`settings`: without `TOCSIN_` in front."""
        self.log = folder / f"gateway-{uuid4().hex}.log"
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("libs", "services")),
            "TOCSIN_STATE_DIR": str(folder),
            "TOCSIN_LISTEN": "127.0.0.1:0",
            **{f"TOCSIN_{name}": value for name, value in settings.items()},
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, __file__], env=environment, stderr=log, stdout=log
            )

    def url(self) -> str:
        """Where it answers, as soon as it says so."""
        for line in self._follow():
            if line.get("action") == "gateway_listening":
                return str(line["message"]).rpartition(" ")[2]
        raise AssertionError(f"the gateway ended: {self.log.read_text()}")

    def client(self) -> Client:
        return Client(self.url(), retries=20)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def stop(self) -> int:
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)

    def _follow(self) -> "list[dict[str, object]]":
        """Lines of the log until the one that says where it listens, or the end."""
        while True:
            text = self.log.read_text()
            lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
            if "gateway_listening" in text or self.process.poll() is not None:
                return lines
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                continue

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


def main() -> int:
    from tocsin.logs import configure_logging
    from tocsin.settings import load_settings
    from tocsin_gateway.service import run_gateway

    configure_logging()
    return run_gateway(load_settings(os.environ))


if __name__ == "__main__":
    sys.exit(main())
