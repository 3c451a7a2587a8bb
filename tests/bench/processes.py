"""Processes of the benchmarks' own, beside the services."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """From now on this process does not outlive the one that started it (on Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def plain_environ() -> dict[str, str]:
    """This process's own, without any setting of Tocsin's. Services start from bytecode, as they
    do where they are installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "libs", ROOT / "services")))
    return {**kept, "PYTHONPATH": paths}


@contextmanager
def http_receiver() -> Iterator[str]:
    """The URL of a server that answers each POST with 200 bytes; those to `/held` never."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.receiver"],
        env=plain_environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
