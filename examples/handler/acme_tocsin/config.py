"""The configuration of handler `acme-redis`: what a job may say, and its check.

Gateways import this module, workers the handler too.
"""

import re

from tocsin.model.fields import Fields
from tocsin.model.handlers.texts import filled, matching, secret
from tocsin.model.values import Value

_address = matching(re.compile(r"[a-z0-9.-]+:\d{1,5}"), "an address such as redis.example:6379")


class RedisConfig(Value, frozen=True):
    """As it stands in the job. `password`: a reference to a secret."""

    address: str
    channel: str
    password: str | None = None


def check_redis(config: Fields) -> None:
    """Notes all that is wrong."""
    config.require("address", "channel")
    config.read("address", "", _address)
    config.read("channel", "", filled)
    config.read("password", None, secret)
    config.finish()
