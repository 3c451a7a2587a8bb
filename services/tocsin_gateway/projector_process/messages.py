"""What gateway and projector say to one another, and how it goes through a socket.

Each message is MessagePack behind its length in four bytes, big-endian. The demand alone is a byte:
it is told again and again, and only the last word counts.
"""

import socket
import struct
from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar

import msgspec

from tocsin import __version__
from tocsin_gateway.projection.audience import Advance
from tocsin_gateway.projection.tables import SCHEMA_VERSION

T = TypeVar("T")

_LENGTH = struct.Struct(">I")


class Start(msgspec.Struct, frozen=True):
    """Gateway to projector, first of all. kafka: properties of the client. There are secrets in it,
    so it does not go through arguments. version, schema_version: the gateway's; a projector of
    others, installed since, must not write what it reads."""

    bootstrap: str
    kafka: Mapping[str, str]
    prefix: str
    database_url: str
    history_age_ms: int
    history_runs: int
    version: str = __version__
    schema_version: str = SCHEMA_VERSION

    def __repr__(self) -> str:
        return f"Start(prefix={self.prefix!r}, version={self.version!r})"


class Alive(msgspec.Struct, frozen=True, tag=True):
    """`Audience.alive`."""


class BegunAnew(msgspec.Struct, frozen=True, tag=True):
    """`Audience.begin_anew`."""

    generation: int


class Started(msgspec.Struct, frozen=True, tag=True):
    """`Audience.start`: (topic, partition, offset)."""

    positions: list[tuple[str, int, int]]


class Reported(msgspec.Struct, frozen=True, tag=True):
    """`Audience.tell`."""

    advance: Advance


class Trouble(msgspec.Struct, frozen=True, tag=True):
    """`Audience.trouble`."""

    reason: str | None


class Ended(msgspec.Struct, frozen=True, tag=True):
    """It has ended for good; the exit code is to be the gateway's."""

    reason: str
    exit_code: int


Message: TypeAlias = Alive | BegunAnew | Started | Reported | Trouble | Ended


class Gone(Exception):
    """The other side is not there any more."""


class Sender:
    """Writes messages. For one thread."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._encoder = msgspec.msgpack.Encoder()

    def send(self, message: Message | Start) -> None:
        """Blocks while the other side does not read. Raises `Gone`."""
        body = self._encoder.encode(message)
        try:
            self._channel.sendall(_LENGTH.pack(len(body)) + body)
        except OSError as error:
            raise Gone from error


class Receiver(Generic[T]):
    """Reads messages of one kind. For one thread."""

    def __init__(self, channel: socket.socket, decoder: "msgspec.msgpack.Decoder[T]") -> None:
        self._channel = channel
        self._decoder = decoder

    def receive(self) -> T:
        """The next one; blocks. Raises `Gone`."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return self._decoder.decode(self._read(length))

    def _read(self, size: int) -> bytes:
        """So many bytes, and none of those behind them."""
        read = bytearray()
        while len(read) < size:
            try:
                part = self._channel.recv(size - len(read), socket.MSG_WAITALL)
            except OSError as error:
                raise Gone from error
            if not part:
                raise Gone
            read += part
        return bytes(read)
