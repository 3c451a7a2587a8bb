"""What a local store says of itself: how far it has come, and with which log.

It is written in the batch that brings the store there, and removed before a restore begins, so a
store either has a checkpoint and is whole, or has none.
"""

import msgspec

from tocsin_scheduler.core.partition import Offsets
from tocsin_scheduler.core.place import instant_of
from tocsin_scheduler.core.store import Store
from tocsin_scheduler.shell.estate import Accounted, Estate
from tocsin_scheduler.shell.log_identity import LogIdentity

CHECKPOINT_KEY = b"@checkpoint"
FORMAT = 1
HOUR_MS = 3_600_000


class Checkpoint(msgspec.Struct, frozen=True, array_like=True):
    """state: the offset below which records of the state topic are in the store. time: when it
    was written, epoch milliseconds. log: what the store was built from."""

    place: bytes
    jobs: int
    signals: int
    outcomes: int
    state: int
    time: int
    log: LogIdentity
    format: int = FORMAT

    @property
    def accounted(self) -> Accounted:
        return Accounted(self.place, Offsets(self.jobs, self.signals, self.outcomes))


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Checkpoint)


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    return _ENCODER.encode(checkpoint)


def read_checkpoint(store: Store) -> Checkpoint | None:
    """None where there is none that this version understands. Raises `StoreDamaged`."""
    data = store.get(CHECKPOINT_KEY)
    if data is None:
        return None
    try:
        return _DECODER.decode(data)
    except msgspec.DecodeError:
        return None


def objection(
    checkpoint: Checkpoint | None, log: LogIdentity, estate: Estate, now: int, longest_ms: int
) -> str | None:
    """Why a store cannot be brought up to date from its checkpoint; None if it can.

    now: by this machine's clock; where that is behind, the last owner's watermark is not.
    longest_ms: how long compaction leaves whole what a reader that is behind has to see; the
    tombstones of both topics are kept for longer.
    """
    if checkpoint is None:
        return "it has no checkpoint, as on a new node or after a restore that was cut short"
    if checkpoint.format != FORMAT:
        return f"its format is {checkpoint.format}, not {FORMAT}"
    if checkpoint.log != log:
        return "it was built from another cluster or other topics of the same name"
    left_off = 0 if estate.committed is None else instant_of(estate.committed.place)
    if checkpoint.time < max(now, left_off) - longest_ms + HOUR_MS:
        return "it is older than what compaction leaves whole"
    if not estate.covers(checkpoint.accounted.offsets.jobs, checkpoint.state):
        return "it is beyond the log's end, or behind its beginning"
    return None
