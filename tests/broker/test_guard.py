"""A guarded program ends with its parent, whichever way the parent ends."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tocsin.broker.local import guard
from tocsin.broker.local.guarded import Guarded

PROGRAM = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]


def family(pid: int) -> list[psutil.Process]:
    """The guard and its program."""
    process = psutil.Process(pid)
    return [process, *process.children()]


@pytest.fixture
def guarded_by(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A guard over a program that has come up; this test holds the pipe of its parent."""
    order = {"command": PROGRAM, "when_orphaned": [["touch", str(tmp_path / "orphaned")]]}
    with subprocess.Popen(
        [sys.executable, "-I", guard.__file__, json.dumps(order)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        yield process
        process.kill()


def test_when_the_pipe_closes_the_program_is_killed_and_its_traces_removed(
    guarded_by: subprocess.Popen[str], tmp_path: Path
) -> None:
    _, program = family(guarded_by.pid)
    assert guarded_by.stdin
    guarded_by.stdin.close()
    assert guarded_by.wait(10) == -signal.SIGKILL % 256
    assert not program.is_running()
    assert (tmp_path / "orphaned").exists()


def test_orders_are_passed_on_and_the_exit_code_is_the_programs(
    guarded_by: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert guarded_by.stdin
    guarded_by.stdin.write("SIGTERM\n")
    guarded_by.stdin.flush()
    assert guarded_by.wait(10) == -signal.SIGTERM % 256
    assert not (tmp_path / "orphaned").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's death signal is Linux's")
def test_the_program_dies_with_a_killed_guard(guarded_by: subprocess.Popen[str]) -> None:
    _, program = family(guarded_by.pid)
    guarded_by.kill()
    gone, alive = psutil.wait_procs([program], timeout=10)
    assert (len(gone), alive) == (1, [])


def test_ctrl_c_at_the_terminal_does_not_reach_the_program(tmp_path: Path) -> None:
    before = set(psutil.Process().children())
    guarded = Guarded(PROGRAM, tmp_path / "log", [])
    (process,) = set(psutil.Process().children()) - before
    assert os.getpgid(process.pid) != os.getpgid(0)
    assert guarded.alive()
    assert guarded.end(signal.SIGKILL, 10)
    assert not guarded.alive()


def test_a_program_that_ignores_the_signal_is_still_there(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', "
    stubborn += "flush=True); time.sleep(600)"
    guarded = Guarded([sys.executable, "-c", stubborn], tmp_path / "log", [])
    while "up" not in (tmp_path / "log").read_text():
        assert guarded.alive()
    assert not guarded.end(signal.SIGTERM, 0.2)
    assert guarded.end(signal.SIGKILL, 10)


def test_a_program_that_has_ended_counts_as_ended(tmp_path: Path) -> None:
    guarded = Guarded([sys.executable, "-c", ""], tmp_path / "log", [])
    assert guarded.end(signal.SIGTERM, 10)
    assert guarded.end(signal.SIGKILL, 10)
