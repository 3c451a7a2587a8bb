"""Several processes under one parent: a dead one is started again, all are told to stop."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.faults.waiting import until

ROOT = Path(__file__).parents[2]
PROGRAM = """
import os, signal, subprocess, sys
from tocsin.logs import configure_logging
from tocsin_cli import supervision

configure_logging()
supervision.FIRST_PAUSE_MS = 50
supervision.LASTING_MS = int(os.environ["LASTING_MS"])
child = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); %s"
start = lambda number: subprocess.Popen(
    [sys.executable, "-c", child % os.environ["DOES"]],
    preexec_fn=supervision._stop_with_the_parent,
)
sys.exit(supervision.supervise(2, start))
"""


class Parent:
    """A supervisor of two processes that do `does`."""

    def __init__(self, log: Path, does: str, lasting_ms: int = 600_000) -> None:
        self.log = log
        paths = os.pathsep.join(str(ROOT / folder) for folder in ("libs", "services"))
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM],
                env={
                    **os.environ,
                    "PYTHONPATH": paths,
                    "DOES": does,
                    "LASTING_MS": str(lasting_ms),
                },
                stderr=output,
                stdout=output,
            )

    def logged(self, action: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{"]
        return [line for line in lines if line["action"] == action]

    def started(self, number: int) -> list[int]:
        """The pids, as soon as so many have been started."""
        until(lambda: len(self.logged("process_started")) >= number, f"{number} starts")
        return [line["pid"] for line in self.logged("process_started")]


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Parent]:
    parent = Parent(tmp_path / "log", "signal.pause()")
    yield parent
    parent.process.kill()
    parent.process.wait()


def is_alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_process_that_was_killed_is_started_again_and_the_other_goes_on(parent: Parent) -> None:
    killed, other = parent.started(2)
    os.kill(killed, signal.SIGKILL)
    again = parent.started(3)[2]
    assert is_alive(again)
    assert is_alive(other)
    (ended,) = parent.logged("process_ended")
    assert (ended["number"], ended["code"]) == (0, -signal.SIGKILL)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_all_are_told_to_stop_with_their_parent(parent: Parent, how: signal.Signals) -> None:
    pids = parent.started(2)
    until(lambda: all(psutil.Process(pid).num_threads() for pid in pids), "both run")
    parent.process.send_signal(how)
    assert parent.process.wait(60) == 0
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl(2)")
def test_none_outlives_a_parent_that_was_killed(parent: Parent) -> None:
    pids = parent.started(2)
    parent.process.kill()
    until(lambda: not any(is_alive(pid) for pid in pids), "both end")


def test_a_conflict_of_one_that_has_lasted_does_not_end_it(tmp_path: Path) -> None:
    """The client may have taken itself for another."""
    parent = Parent(tmp_path / "log", "sys.exit(4)", lasting_ms=1)
    parent.started(4)
    parent.process.terminate()
    parent.process.wait(60)


def test_a_conflict_soon_after_the_start_ends_them_all(tmp_path: Path) -> None:
    parent = Parent(tmp_path / "log", "sys.exit(4)")
    assert parent.process.wait(60) == 4


def test_one_that_fails_again_and_again_rests_longer_each_time(tmp_path: Path) -> None:
    parent = Parent(tmp_path / "log", "sys.exit(1)")
    until(lambda: len(parent.logged("process_ended")) >= 6, "six ends")
    parent.process.terminate()
    parent.process.wait(60)
    pauses = [line["message"].split()[-2] for line in parent.logged("process_ended")]
    assert {"50", "100", "200"} <= set(pauses)
