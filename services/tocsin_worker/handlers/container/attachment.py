"""Standard input and output of a container, over a connection each.

The engine turns a request for `attach` into a two-way stream (`101 Switching Protocols`). What
comes is framed: one byte for the stream, three of nothing, four of length, then the data.

Input has a connection of its own: a container may end without having read it, and Podman ends a
connection whose input it cannot hand on, with all output that is still to come. It sends the
output there as well; where nobody takes it, the container stands still.
"""

import asyncio
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tocsin_worker.handlers.container.errors import EngineError, problem_of
from tocsin_worker.handlers.output import Output

_FRAME = struct.Struct(">BxxxL")
_CHUNK = 64 * 1024
_STDERR = 2
_DRAIN_SECONDS = 5.0


class Attachment:
    """Reads until the container's end; what it has read stands in `stdout` and `stderr`."""

    def __init__(self, output: "_Connection", stdin: "_Connection") -> None:
        self._output = output
        self._stdin = stdin
        self._reading = asyncio.ensure_future(self._read())
        self._emptying = asyncio.ensure_future(_empty(stdin.reader))
        self._writing: asyncio.Future[None] | None = None
        self.stdout = Output()
        self.stderr = Output()

    @classmethod
    async def open(cls, socket: Path, path: str) -> Self:
        """`path`: of the container's `attach`. Raises `EngineError`, and `OSError` where the engine
        is away."""
        output = await _Connection.open(socket, f"{path}?stream=1&stdout=1&stderr=1")
        try:
            return cls(output, await _Connection.open(socket, f"{path}?stream=1&stdin=1"))
        except BaseException:
            output.abort()
            raise

    def send(self, stdin: bytes) -> None:
        """Write it and close the container's standard input, without waiting for either."""
        self._writing = asyncio.ensure_future(self._write(stdin))

    async def close(self) -> None:
        """Read what is left of a container that has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                await asyncio.shield(self._reading)

    async def abort(self) -> None:
        """Let go of the connections."""
        begun = (self._reading, self._emptying, self._writing)
        tasks = [task for task in begun if task is not None]
        for task in tasks:
            task.cancel()
        self._output.abort()
        self._stdin.abort()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _write(self, stdin: bytes) -> None:
        """A container that reads nothing closes its end early, or never takes it."""
        with suppress(OSError):
            self._stdin.writer.write(stdin)
            await self._stdin.writer.drain()
            self._stdin.writer.write_eof()

    async def _read(self) -> None:
        reader = self._output.reader
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                stream, left = _FRAME.unpack(await reader.readexactly(_FRAME.size))
                output = self.stderr if stream == _STDERR else self.stdout
                while left:
                    data = await reader.read(min(left, _CHUNK))
                    if not data:
                        return
                    output.feed(data)
                    left -= len(data)


async def _empty(reader: asyncio.StreamReader) -> None:
    """Take what comes, to its end, and drop it."""
    with suppress(OSError):
        while await reader.read(_CHUNK):
            pass


@dataclass(frozen=True, slots=True)
class _Connection:
    """A stream into a container."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, socket: Path, request: str) -> Self:
        """Raises `EngineError`, and `OSError` where the engine is away."""
        reader, writer = await asyncio.open_unix_connection(str(socket))
        writer.write(
            f"POST {request} HTTP/1.1\r\nHost: engine\r\nConnection: Upgrade\r\n"
            "Upgrade: tcp\r\nContent-Length: 0\r\n\r\n".encode()
        )
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            status = int(head.split()[1])
            if status not in {101, 200}:
                raise EngineError(status, problem_of(await reader.read(_CHUNK)))
        except BaseException as error:
            writer.close()
            if isinstance(error, asyncio.IncompleteReadError):
                raise ConnectionError("the engine has closed the connection") from None
            raise
        return cls(reader, writer)

    def abort(self) -> None:
        self.writer.transport.abort()
