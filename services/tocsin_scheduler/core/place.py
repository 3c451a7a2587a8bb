"""Places in the due index, and the bytes of the keys of the local store.

A place orders what is due: due instant (8 bytes, big-endian milliseconds), priority (1 byte), a
hash of the job key (4 bytes, so that tenants are mixed inside an instant), the job key.
"""

import struct
import zlib

from tocsin.model.jobs import Priority

DEFINITION = b"d"
FIRING = b"f"
DUE = b"i"
JOB_STATE = b"j"
RUN_STATE = b"r"
TIMER = b"t"
HEARTBEAT = b"h"
PRESENCE = b"u"
ENDED = b"e"
READY = b"c"
EMITTED = b"k"
TALLY = b"n"

INSTANT_BYTES = 8
_SPOT_AT = INSTANT_BYTES + 1
_KEY_AT = _SPOT_AT + 4
_INSTANT = struct.Struct(">Q")
_PLACE = struct.Struct(">QBI")
_HASH = struct.Struct(">I")
_RANK: dict[str, int] = {"high": 0, "normal": 1, "low": 2}

NOWHERE = b""
"""Before every place."""


def instant_bytes(instant: int) -> bytes:
    """Epoch milliseconds in the order of time; instants before 1970 count as 0."""
    return _INSTANT.pack(max(instant, 0))


def instant_of(place: bytes) -> int:
    """The instant at which a place stands, epoch milliseconds; 0 for `NOWHERE`."""
    return int(_INSTANT.unpack_from(place)[0]) if place else 0


def place_of(due: int, priority: Priority, key: bytes) -> bytes:
    """The place of a job's occurrence that is due then."""
    return _PLACE.pack(max(due, 0), _RANK[priority], zlib.crc32(key)) + key


def end_of(instant: int) -> bytes:
    """Behind every place of that instant."""
    return instant_bytes(instant) + b"\xff"


def key_of(place: bytes) -> bytes:
    """The job key of a place."""
    return place[_KEY_AT:]


def spot_of(key: bytes) -> bytes:
    """Hash and key of a job, as its places end: what the firing loop reads of jobs that are due
    at one instant lies in the order in which it asks for it."""
    return _HASH.pack(zlib.crc32(key)) + key


def spot_in(place: bytes) -> bytes:
    """The spot of the job whose place it is."""
    return place[_SPOT_AT:]


def run_key(key: bytes, run_id: str) -> bytes:
    """A run's key in the state topic and, behind its letter, in the store."""
    return key + b"#" + run_id.encode()
