"""How far the scheduler has come, by what it commits: a watermark and an owner a partition.

The offset of the jobs topic carries `v1 w=<place, hexadecimal> o=<owner>` as its metadata, and
` s=<milliseconds>` behind it while runs are looked for that a former owner has emitted. A place in
the due index begins with its instant, eight bytes of epoch milliseconds, big-endian. The state
topic repeats it, at least once a minute, under the key `%watermark/<partition>`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tocsin.broker.port import Cluster, Committed, Isolation, TopicPartition
from tocsin.model.state import Watermark
from tocsin.wire.topics import Topics

WATERMARK_KEY = "%watermark/"
NOBODY = "-"

_MARK = re.compile(r"v1 w=((?:[0-9a-f]{2})*) o=(\S*)(?: s=\d+)?", re.ASCII)
_INSTANT_BYTES = 8


class Mark(NamedTuple):
    """place: orders watermarks. jobs: records of the jobs topic below it are applied.
    owner: a transactional id; None = released, or not known."""

    place: bytes
    jobs: int
    owner: str | None = None

    @property
    def instant(self) -> int:
        """Up to here, epoch milliseconds, everything due is accounted."""
        return int.from_bytes(self.place[:_INSTANT_BYTES], "big")


def committed_marks(
    cluster: Cluster, topics: Topics, partitions: int, timeout: float
) -> dict[int, Mark]:
    """What was committed last, without waiting for transactions that are open. Partitions whose
    offset carries no watermark are left out."""
    reader = cluster.log_reader(topics.scheduler_group, isolation=Isolation.UNCOMMITTED)
    try:
        jobs = [TopicPartition(topics.jobs, partition) for partition in range(partitions)]
        found = reader.committed(jobs, timeout)
    finally:
        reader.close()
    return _known((tp.partition, mark_of(committed)) for tp, committed in found.items())


def mark_of(committed: Committed) -> Mark | None:
    """The watermark beside an offset; None where somebody else has committed it."""
    match = _MARK.fullmatch(committed.metadata)
    if match is None or committed.offset is None:
        return None
    owner = match[2] if match[2] not in ("", NOBODY) else None
    return Mark(bytes.fromhex(match[1]), committed.offset, owner)


def stored_mark(watermark: Watermark) -> Mark:
    """The watermark that the state topic holds."""
    return Mark(watermark.place, watermark.jobs, watermark.owner or None)


def later(one: Mapping[int, Mark], other: Mapping[int, Mark]) -> dict[int, Mark]:
    """Of each partition the mark with the larger place."""
    merged = dict(one)
    for partition, mark in other.items():
        known = merged.get(partition)
        if known is None or mark.place > known.place:
            merged[partition] = mark
    return merged


def _known(marks: Iterable[tuple[int, Mark | None]]) -> dict[int, Mark]:
    return {partition: mark for partition, mark in marks if mark is not None}
