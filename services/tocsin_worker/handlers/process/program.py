"""A program in a process group of its own, watched by the event loop."""

import asyncio
import os
import pwd
import signal
import subprocess
from collections.abc import Mapping
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Self

from tocsin_worker.handlers.output import Output

TERM_SECONDS = 0.5
"""Between SIGTERM and SIGKILL: a handler has to let go within a second."""

_PIPE_SECONDS = 1.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Order:
    """What to start. `stdin`: all that the program can read there."""

    argv: tuple[str, ...]
    stdin: bytes
    env: Mapping[str, str]
    directory: str | None = None
    user: str | None = None


class Program:
    """Linux: the end of the process is awaited by its file descriptor (`pidfd_open`)."""

    def __init__(self, popen: "subprocess.Popen[bytes]", end: int) -> None:
        self._popen = popen
        self._end = end
        self.stdout = Output()
        self.stderr = Output()
        self._pipes: list[tuple[asyncio.BaseTransport, _Reading]] = []

    @classmethod
    async def start(cls, order: Order, threads: Executor) -> Self:
        """On one of the threads, since it may block. Raises `OSError` where the program, its
        directory or its user cannot be had."""
        popen = await _watched(order, threads)
        program = cls(popen, os.pidfd_open(popen.pid))
        try:
            await program._read()
        except BaseException:
            await program.stop()
            raise
        return program

    async def wait(self) -> int:
        """The exit code, negative for a signal. Nothing of the group is left then."""
        await self._ended()
        return await self._clean()

    async def stop(self) -> None:
        """SIGTERM to the whole group; SIGKILL to whoever is left soon afterwards."""
        self._signal(signal.SIGTERM)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(TERM_SECONDS):
                    await self._ended()
        finally:
            await self._clean()

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        streams = ((self._popen.stdout, self.stdout), (self._popen.stderr, self.stderr))
        for stream, output in streams:
            reading = _Reading(output)
            transport, _ = await loop.connect_read_pipe(lambda reading=reading: reading, stream)  # type: ignore[misc]
            self._pipes.append((transport, reading))

    async def _ended(self) -> None:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        loop.add_reader(self._end, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(self._end)

    async def _clean(self) -> int:
        """The group's number is ours until its leader has been waited for: kill first."""
        self._signal(signal.SIGKILL)
        await self._ended()
        exit_code = self._popen.wait()
        os.close(self._end)
        with suppress(TimeoutError):  # a daemon that left the group may hold a pipe
            async with asyncio.timeout(_PIPE_SECONDS):
                for _, reading in self._pipes:
                    await reading.closed.wait()
        for transport, _ in self._pipes:
            transport.close()
        for stream in (self._popen.stdout, self._popen.stderr)[len(self._pipes) :]:
            if stream is not None:  # its reading has not begun
                stream.close()
        return exit_code

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._popen.pid, number)


class _Reading(asyncio.Protocol):
    """Feeds an output until the pipe is closed."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self.closed = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self._output.feed(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.closed.set()


async def _watched(order: Order, threads: Executor) -> "subprocess.Popen[bytes]":
    """Whoever is cancelled while it is being started ends it: nobody else knows of it."""
    starting = asyncio.get_running_loop().run_in_executor(threads, _popen, order)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with suppress(OSError), await starting as popen:
            os.killpg(popen.pid, signal.SIGKILL)
        raise


def _popen(order: Order) -> "subprocess.Popen[bytes]":
    """Nothing of the worker's environment is handed on: there are secrets in it."""
    account = _account(order.user)
    changed = order.user is not None and account.pw_uid != os.geteuid()
    with TemporaryFile() as stdin:
        stdin.write(order.stdin)
        stdin.seek(0)
        return subprocess.Popen(  # noqa: S603 - which programs may run is the operator's choice
            order.argv,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=order.directory,
            env={"PATH": _PATH, "LANG": "C.UTF-8", "HOME": account.pw_dir, **order.env},
            start_new_session=True,
            user=account.pw_uid if changed else None,
            group=account.pw_gid if changed else None,
            extra_groups=os.getgrouplist(account.pw_name, account.pw_gid) if changed else None,
        )


def _account(user: str | None) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(os.geteuid()) if user is None else pwd.getpwnam(user)
    except KeyError:
        if user is None:  # a container may run under a number without a name
            return pwd.struct_passwd(("", "", os.geteuid(), os.getegid(), "", "/", ""))
        raise FileNotFoundError(f"there is no user {user!r}") from None
