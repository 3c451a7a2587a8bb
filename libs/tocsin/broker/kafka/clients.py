"""The one place where the Kafka client is made: it is here that properties are judged."""

from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaException

from tocsin.broker.errors import PropertiesRefused
from tocsin.broker.kafka.settings import Conf
from tocsin.broker.kafka.translate import translate

T = TypeVar("T")

_NO_THREAD = "_CRIT_SYS_RESOURCE"


def make_client(kind: Callable[[Conf], T], conf: Conf) -> T:
    """A `kind` of `conf`; asks no broker.

    Raises `PropertiesRefused` where a property does not exist, has a value that cannot be, or does
    not go with the others; `Die` where the machine has no thread left for the client.
    """
    try:
        return kind(conf)
    except KafkaException as exception:
        error = translate(exception.args[0], "make a Kafka client")
        if error.code == _NO_THREAD:
            raise error from exception
        raise PropertiesRefused(error.reason, code=error.code) from exception
    except (AttributeError, TypeError, ValueError) as exception:  # as for `default.topic.config`
        raise PropertiesRefused(f"could not make a Kafka client: {exception}") from exception
