"""What a job says about its record: the configuration of handler `kafka`."""

from typing import Literal

import msgspec

from tocsin.model.values import Value

Partitioner = Literal["murmur2", "crc32", "random"]


class KafkaConfig(Value, frozen=True):
    """As it stands in the job. `cluster` None: the one that Tocsin itself is on."""

    topic: str
    key: str | None = None
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    partition: int | None = None
    partitioner: Partitioner = "murmur2"
    cluster: str | None = None
    payload_encoding: str | None = None
