"""The configuration of handler `kafka`."""

import re
from typing import Final

from tocsin.model.fields import Fields, WrongValue, one_of, text
from tocsin.model.handlers.texts import between, check_headers, matching

MAX_KEY: Final = 4_096
PARTITIONERS: Final = ("murmur2", "crc32", "random")

_RUN_HEADERS: Final = frozenset(
    {
        "idempotency-key",
        "tocsin-job-id",
        "tocsin-tenant",
        "tocsin-scheduled-time",
        "tocsin-attempt",
        "traceparent",
    }
)
_topic = matching(re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}", re.ASCII), "a topic's name")
_cluster = matching(re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII), "the name of a cluster")


def check_kafka(config: Fields) -> None:
    """Notes all that is wrong; see `docs/handlers.md` for the fields."""
    config.require("topic")
    config.read("topic", "", _topic)
    config.read("key", None, _key)
    config.read("partition", None, between(0, 2**31 - 1))
    config.read("partitioner", "murmur2", one_of(*PARTITIONERS))
    config.read("cluster", None, _cluster)
    config.read("payload_encoding", None, one_of("base64"))
    if config.has("partition") and config.has("partitioner"):
        config.error(("partitioner",), "conflict", "partition says already where it goes")
    check_headers(config, _RUN_HEADERS)
    config.finish()


def _key(value: object) -> str:
    if len(text(value).encode()) > MAX_KEY:
        raise WrongValue("size", f"is too long; the most is {MAX_KEY:,} bytes")
    return text(value)
