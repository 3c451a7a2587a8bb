"""Disks of nodes, which can be full."""

import shutil
import subprocess
from pathlib import Path
from typing import Protocol

import psutil

from tests.faults.waiting import until

SIZE_BYTES = 4 << 30
"""Of a file system in memory, which takes as much of it as there is in its files."""
FILE_BYTES = 64 * 1024


class Disk(Protocol):
    """Where the stores of one node are."""

    def fill(self, pid: int) -> None:
        """From now on that process cannot write more to it."""

    def empty(self, pid: int) -> None:
        """There is room again."""

    def remove(self) -> None:
        """All that is on it is gone."""


def make_disk(folder: Path) -> Disk:
    """A file system of its own where this user may mount one."""
    folder.mkdir()
    return FileSystem(folder) if _mount(folder, "-t", "tmpfs", "tmpfs") else FileSizes()


class FileSystem:
    """It is full as a real disk is, for whatever is written to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self, pid: int) -> None:
        until(lambda: self._resize(shutil.disk_usage(self._folder).used), "the disk is full")

    def empty(self, pid: int) -> None:
        assert self._resize(SIZE_BYTES)

    def remove(self) -> None:
        subprocess.run(["umount", "--lazy", str(self._folder)], check=True)

    def _resize(self, size: int) -> bool:
        return _mount(self._folder, "-o", f"remount,size={size}")


class FileSizes:
    """No file of the process may grow beyond what its database has already."""

    def __init__(self) -> None:
        self._before = (psutil.RLIM_INFINITY, psutil.RLIM_INFINITY)

    def fill(self, pid: int) -> None:
        process = psutil.Process(pid)
        self._before = process.rlimit(psutil.RLIMIT_FSIZE)
        process.rlimit(psutil.RLIMIT_FSIZE, (FILE_BYTES, self._before[1]))

    def empty(self, pid: int) -> None:
        if psutil.pid_exists(pid):
            psutil.Process(pid).rlimit(psutil.RLIMIT_FSIZE, self._before)

    def remove(self) -> None:
        """It is none."""


def _mount(folder: Path, *arguments: str) -> bool:
    done = subprocess.run(["mount", *arguments, str(folder)], check=False, capture_output=True)
    return done.returncode == 0
