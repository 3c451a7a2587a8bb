"""What the core wants written to the log."""

from typing import NamedTuple

from tocsin.wire.headers import Headers


class Outgoing(NamedTuple):
    """One record to produce. `partition` None: the shell chooses (runs) or there is one choice."""

    topic: str
    key: bytes
    value: bytes | None
    partition: int | None = None
    headers: Headers | None = None
