"""Which partition a key belongs to, as Kafka's Java producer and `murmur2_random` compute it."""

import struct

_WORDS = struct.Struct("<I")


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash that Kafka's default partitioner uses (seed 0x9747b28c)."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    length = len(data)
    h = 0x9747B28C ^ length
    whole = length - length % 4
    for (word,) in _WORDS.iter_unpack(data[:whole]):
        k = word * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if whole != length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a record with that key in a topic of that many partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
