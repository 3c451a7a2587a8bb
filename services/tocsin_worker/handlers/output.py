"""What a program has written, bounded, as history keeps it."""

from collections import deque

import msgspec

from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.limits import RESULT_BYTES

HEAD_BYTES = 8 * 1024
TAIL_BYTES = 24 * 1024
MAX_EXCERPT = 1_000


class Output:
    """One stream: its beginning and its end are kept, however much comes between."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.size = 0

    def feed(self, data: bytes) -> None:
        self.size += len(data)
        room = HEAD_BYTES - len(self._head)
        self._head += data[:room]
        if data[room:]:
            self._tail.append(data[room:][-TAIL_BYTES:])
            self._tail_bytes += len(self._tail[-1])
        while self._tail and self._tail_bytes - len(self._tail[0]) >= TAIL_BYTES:
            self._tail_bytes -= len(self._tail.popleft())

    def text(self, disclosure: Disclosure, most: int = HEAD_BYTES + TAIL_BYTES) -> str:
        """At most about `most` bytes, without secrets; what is left out is counted."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if len(head) + len(tail) == self.size <= most:
            return disclosure.hide((head + tail).decode(errors="replace"))
        head, tail = (head + tail)[: most // 4], (head + tail)[-(most - most // 4) :]
        left_out = self.size - len(head) - len(tail)
        before = disclosure.hide_cut_end(head.decode(errors="replace"))
        after = disclosure.hide_cut_start(tail.decode(errors="replace"))
        return f"{before}\n[{left_out} bytes left out]\n{after}"


class ProgramResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kept as JSON."""

    exit_code: int
    stdout: str
    stderr: str


def program_result(exit_code: int, out: Output, err: Output, disclosure: Disclosure) -> bytes:
    """JSON of at most `RESULT_BYTES`."""
    most = HEAD_BYTES + TAIL_BYTES
    while True:
        result = ProgramResult(exit_code, out.text(disclosure, most), err.text(disclosure, most))
        encoded = msgspec.json.encode(result)
        if len(encoded) <= RESULT_BYTES:
            return encoded
        most //= 2


def last_words(out: Output, err: Output, disclosure: Disclosure) -> str:
    """The end of what was written, for an error's message; empty if nothing was."""
    text = err.text(disclosure).strip() or out.text(disclosure).strip()
    return f": {text[-MAX_EXCERPT:]}" if text else ""
