"""A local broker that outlives its starter: `tocsin broker start` and `tocsin broker stop`."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from tocsin.broker.local.broker import START_TIMEOUT_S, STOP_TIMEOUT_S, BrokerAddress, prepare
from tocsin.broker.local.commands import answers
from tocsin.broker.local.errors import LocalBrokerError
from tocsin.broker.local.node import new_node
from tocsin.broker.local.readiness import wait_until_usable
from tocsin.broker.local.runtime import choose_runtime
from tocsin.clock import monotonic_ms

_PAUSE_S = 0.02


@dataclass(frozen=True, slots=True)
class _PidFile:
    """What `broker.json` in the data folder says about the process that runs on it."""

    pid: int
    created: float
    """The process's start as the system reports it: a pid alone may be somebody else's by now."""
    bootstrap: str
    removal: list[str]

    def alive(self) -> bool:
        try:
            process = psutil.Process(self.pid)
            return process.create_time() == self.created and _runs(process)
        except psutil.NoSuchProcess:
            return False

    def send(self, how: signal.Signals) -> None:
        """Signal the process, unless it has ended."""
        if self.alive():
            psutil.Process(self.pid).send_signal(how)

    def kill(self) -> None:
        if self.removal:
            answers(self.removal, STOP_TIMEOUT_S)
        self.send(signal.SIGKILL)


def background_broker(data_dir: Path) -> BrokerAddress | None:
    """The broker that runs in the background on `data_dir`, if one does."""
    record = _read(data_dir)
    return BrokerAddress(record.bootstrap) if record and record.alive() else None


def start_background(data_dir: Path, port: int | None = None) -> BrokerAddress:
    """Start a broker that goes on when this process ends, and block until it is usable.

    If one runs on `data_dir` already, that is it. Raises LocalBrokerError.
    """
    if running := background_broker(data_dir):
        return running
    runtime = choose_runtime()
    node = new_node(data_dir, port, {})
    prepare(node, runtime)
    pid = _detach(runtime.command(node), node.log)
    record = _PidFile(pid, psutil.Process(pid).create_time(), node.bootstrap, runtime.removal(node))
    _pid_file(data_dir).write_text(json.dumps(asdict(record)), "utf-8")
    try:
        wait_until_usable(node.bootstrap, record.alive, START_TIMEOUT_S)
    except LocalBrokerError as error:
        record.kill()
        raise LocalBrokerError(f"{error}; {node.log} ends: {node.last_words()}") from None
    return BrokerAddress(node.bootstrap)


def stop_background(data_dir: Path) -> bool:
    """Shut the background broker on `data_dir` down; False if none runs. Blocks for up to 20 s."""
    record = _read(data_dir)
    if record is None or not record.alive():
        return False
    record.send(signal.SIGTERM)
    if not _ends(record, STOP_TIMEOUT_S):
        record.kill()
    _pid_file(data_dir).unlink(missing_ok=True)
    return True


def _pid_file(data_dir: Path) -> Path:
    return data_dir / "broker.json"


def _read(data_dir: Path) -> _PidFile | None:
    try:
        return _PidFile(**json.loads(_pid_file(data_dir).read_text("utf-8")))
    except FileNotFoundError:
        return None


def _detach(command: Sequence[str], log: Path) -> int:
    """Start `command` as nobody's child, in a session of its own; its pid."""
    script = '"$@" </dev/null >>"$0" 2>&1 & echo $!'
    shell = subprocess.run(  # noqa: S603 — the script is fixed, the command goes in as arguments
        ["/bin/sh", "-c", script, str(log), *command],
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
        check=True,
    )
    return int(shell.stdout)


def _runs(process: psutil.Process) -> bool:
    # Where nobody collects orphans (a container's first process may not) the dead stay listed.
    return process.status() != psutil.STATUS_ZOMBIE


def _ends(record: _PidFile, timeout_s: float) -> bool:
    deadline_ms = monotonic_ms() + int(timeout_s * 1_000)
    while record.alive() and monotonic_ms() < deadline_ms:
        time.sleep(_PAUSE_S)
    return not record.alive()
