"""A small HTTP server as a process, so cheap that the worker is what is measured.

`python -m tests.bench.receiver` prints its port. It answers every request with 200 and 200 bytes,
at once; one for `/held` never. It ends with the process that started it.
"""

import asyncio
from typing import cast

import uvloop

from tests.bench.processes import die_with_parent

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 200\r\n\r\n" + b"y" * 200
_LENGTH = b"content-length:"


class Connection(asyncio.Protocol):
    """HTTP/1.1 as far as a client needs that sends one request after another."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._read = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by its methods only

    def data_received(self, data: bytes) -> None:
        self._read += data
        while (size := self._request_size()) is not None:
            held = self._read.startswith(b"POST /held")
            del self._read[:size]
            if not held and self._transport is not None:
                self._transport.write(_ANSWER)

    def _request_size(self) -> int | None:
        """Bytes of the first whole request that has been read; None = not whole yet."""
        end = self._read.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self._read[:end]).lower()
        at = head.find(_LENGTH)
        length = 0 if at < 0 else int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0])
        size = end + 4 + length
        return size if len(self._read) >= size else None


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    die_with_parent()
    uvloop.run(main())
