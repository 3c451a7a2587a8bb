"""Which partition a record goes to, where the client's own choice is not wanted."""

import random
import zlib

from tocsin_worker.handlers.kafka.config import KafkaConfig


def needs_count(config: KafkaConfig) -> bool:
    """Whether the choice takes the topic's number of partitions."""
    return config.partition is None and config.partitioner != "murmur2"


def partition_for(config: KafkaConfig, count: int) -> int | None:
    """None = the client chooses, as Java's does: murmur2 of the key.

    `crc32` is what librdkafka calls consistent_random, and so what most clients in other
    languages use by default. A record without a key goes anywhere.
    """
    if not needs_count(config):
        return config.partition
    if config.partitioner == "crc32" and config.key is not None:
        return zlib.crc32(config.key.encode()) % count
    return random.randrange(count)  # noqa: S311 - spreads load, hides nothing
