"""The services of an installation as processes: started, watched, stopped."""

import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tocsin.broker.local.guarded import Guarded
from tocsin.clock import monotonic_ms
from tocsin_cli.failures import NEGATIVE, CommandFailed
from tocsin_cli.stack.plan import Plan

SERVICES = ("scheduler", "worker", "gateway")
"""In the order in which they are stopped: what makes work first."""

READY_S = 120.0
STOP_S = 15.0

_PAUSE_S = 0.1
_LAST_LINES = 15


class Services:
    """The processes, each under a guard that ends it when this process is gone."""

    def __init__(self, plan: Plan, brokers: str) -> None:
        self._plan = plan
        self._running = {
            name: Guarded(
                [sys.executable, "-m", "tocsin_cli", name],
                _fresh(plan.log(name)),
                environment=plan.environment(name, brokers, os.environ),
            )
            for name in SERVICES
        }

    def await_readiness(self) -> None:
        """Block until all are ready; raises CommandFailed if one dies or is not ready in time."""
        deadline = monotonic_ms() + READY_S * 1_000
        while waiting := {name: why for name in SERVICES if (why := self._not_ready(name))}:
            self.check()
            if monotonic_ms() > deadline:
                reasons = "; ".join(f"{name}: {why}" for name, why in waiting.items())
                raise CommandFailed(f"not ready after {READY_S:.0f} s: {reasons}", NEGATIVE)
            time.sleep(_PAUSE_S)

    def check(self) -> None:
        """Raises CommandFailed with the last lines of a service that has ended by itself."""
        for name, process in self._running.items():
            if not process.alive():
                raise CommandFailed(self._obituary(name), NEGATIVE)

    def stop(self, names: Sequence[str] = SERVICES) -> None:
        """Stop cleanly, all at a time; after `STOP_S` by force."""
        stopping = {name: self._running.pop(name) for name in names if name in self._running}
        for process in stopping.values():
            process.send(signal.SIGTERM)
        deadline = monotonic_ms() + STOP_S * 1_000
        for process in stopping.values():
            if not process.ends_within(max(0.0, (deadline - monotonic_ms()) / 1_000)):
                process.end(signal.SIGKILL, STOP_S)

    def _not_ready(self, name: str) -> str | None:
        url = f"http://{self._plan.listens_at(name)}/healthz/ready"
        try:
            with urllib.request.urlopen(url, timeout=5):
                return None
        except urllib.error.HTTPError as error:
            return error.read(500).decode("utf-8", "replace")
        except OSError as error:
            return str(error)

    def _obituary(self, name: str) -> str:
        log = self._plan.log(name)
        with log.open(encoding="utf-8", errors="replace") as lines:
            last = "".join(deque(lines, _LAST_LINES)).rstrip()
        return f"the {name} has ended; {log} ends:\n{last}"


def _fresh(log: Path) -> Path:
    """So that its last lines are of this run."""
    log.unlink(missing_ok=True)
    return log


@contextmanager
def services(plan: Plan, brokers: str) -> Iterator[Services]:
    """Started, but not ready yet; stopped at the end of the block."""
    running = Services(plan, brokers)
    try:
        yield running
    finally:
        running.stop()
