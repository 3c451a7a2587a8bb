"""Where a command finds the installation it works on.

That is what the settings say. Where they name no gateway or no brokers, the newest `tocsin demo`
or `tocsin dev` that runs in this folder is meant: each keeps a locked file

    .tocsin/<its folder>/running.json      what `Running` holds, as JSON

whose lock ends with it, however it ends.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from tocsin.model.values import Value
from tocsin.settings import Settings, load_settings

HOME = Path(".tocsin")
_FILE = "running.json"


class Running(Value, frozen=True, kw_only=True):
    """An installation that a process of this machine keeps up."""

    gateway_url: str
    scheduler_url: str
    brokers: str
    prefix: str


def settings() -> Settings:
    """The environment's settings, completed by what runs here. Raises InvalidSettings."""
    given = load_settings(os.environ)
    if given.model_fields_set & {"brokers", "gateway_url"}:
        return given
    running = running_here()
    if running is None:
        return given
    found = msgspec.structs.asdict(running)
    del found["scheduler_url"]
    return given.model_copy(update=found)


def running_here(home: Path = HOME) -> Running | None:
    """The demo or dev that was started last in this folder and still runs."""
    files = sorted(home.glob(f"*/{_FILE}"), key=lambda file: file.stat().st_mtime, reverse=True)
    live = (_read(file) for file in files if _is_locked(file))
    return next(filter(None, live), None)


class InUse(Exception):
    """Another process keeps up the installation of this folder."""


class Claim:
    """The right to keep up the installation of a folder."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def announce(self, running: Running) -> None:
        """From now on other commands find it."""
        self._file.write(msgspec.json.encode(running))
        self._file.flush()


@contextmanager
def claimed(folder: Path) -> Iterator[Claim]:
    """The only claim to `folder`, made where it is missing. Raises InUse."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / _FILE).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InUse(str(folder)) from None
        file.truncate(0)
        yield Claim(file)


def is_abandoned(folder: Path) -> bool:
    """Whether the process that kept it up has ended without clearing it away."""
    file = folder / _FILE
    return file.exists() and not _is_locked(file)


def _read(file: Path) -> Running | None:
    """None while it is being started."""
    content = file.read_bytes()
    return msgspec.json.decode(content, type=Running) if content else None


def _is_locked(file: Path) -> bool:
    with file.open("rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
