"""What a committed offset says beside the offset.

On `jobs`:                   `v1 w=<place, hexadecimal> o=<transactional id>[ s=<milliseconds>]`
On `signals`, `outcomes`:    `v1`

The place is the watermark W. The owner is the transactional id that committed; after a clean
release there is none. `s` is there while the pair is one that a former owner had gone beyond, whose
last offsets are lost: what was emitted since that instant has to be read back by whoever comes
next, too. An offset without this was not committed by a scheduler: it is *foreign*.
"""

import re
from typing import NamedTuple

SIBLING = "v1"
WATERMARK_KEY = b"%watermark/"
"""Front of the keys of the watermarks in the state topic; the partition's number follows. No job
key looks like that."""

_MARK = re.compile(r"v1 w=((?:[0-9a-f]{2})*) o=(\S*)(?: s=(\d{1,16}))?", re.ASCII)
_RELEASED = ""


class Mark(NamedTuple):
    """How far a partition is accounted and whose it is; owner None = nobody's. since: runs
    emitted from then on may lie behind the place, epoch milliseconds; None = no run does."""

    place: bytes
    owner: str | None
    since: int | None = None


def encode_mark(mark: Mark) -> str:
    """At most about 1,000 bytes: a place holds a job key of at most 264."""
    told = f"v1 w={mark.place.hex()} o={mark.owner or _RELEASED}"
    return told if mark.since is None else f"{told} s={mark.since}"


def parse_mark(metadata: str) -> Mark | None:
    """None where the offset is foreign."""
    found = _MARK.fullmatch(metadata)
    if found is None:
        return None
    since = None if found[3] is None else int(found[3])
    return Mark(bytes.fromhex(found[1]), found[2] or None, since)
