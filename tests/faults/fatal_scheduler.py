"""A scheduler that is killed at a chosen point of a transaction, run as a module.

`FATAL` = `<call>:<number>`: SIGKILL in that call of the transactional producer, in the transaction
of that number among those that wrote records. `committed` is the moment after a commit.
"""

import os
import signal
import sys

from tocsin.broker.kafka.producers import KafkaTransactionalProducer
from tocsin.broker.port import DeliveryCallback, GroupMetadata, Headers, TopicPartition
from tocsin.logs import configure_logging
from tocsin.settings import load_settings
from tocsin_scheduler.service import run_scheduler


class Fatal:
    """Counts transactions that write runs, and dies in one of them."""

    def __init__(self, call: str, number: int) -> None:
        self._call = call
        self._number = number
        self._transactions = 0
        self._has_run = False

    def wrote(self, topic: str) -> None:
        if ".runs." in topic and not self._has_run:
            self._has_run = True
            self._transactions += 1

    def reaches(self, call: str) -> None:
        if self._has_run and call == self._call and self._transactions == self._number:
            os.kill(os.getpid(), signal.SIGKILL)

    def begin(self) -> None:
        self._has_run = False


def install(fatal: Fatal) -> None:
    """Put `fatal` in the way of every transactional producer of this process."""
    kind = KafkaTransactionalProducer
    begin, produce, flush = kind.begin, kind.produce, kind.flush
    send_offsets, commit = kind.send_offsets, kind.commit

    def begin_first(self: KafkaTransactionalProducer) -> None:
        fatal.begin()
        begin(self)

    def produce_then(
        self: KafkaTransactionalProducer,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        produce(self, topic, key, value, partition, headers, on_delivery)
        fatal.wrote(topic)

    def flush_then(self: KafkaTransactionalProducer, timeout: float) -> None:
        flush(self, timeout)
        fatal.reaches("flush")

    def send_offsets_then(
        self: KafkaTransactionalProducer,
        offsets: dict[TopicPartition, tuple[int, str]],
        group_metadata: GroupMetadata,
        timeout: float,
    ) -> None:
        send_offsets(self, offsets, group_metadata, timeout)
        fatal.reaches("send_offsets")

    def commit_then(self: KafkaTransactionalProducer, timeout: float) -> None:
        commit(self, timeout)
        fatal.reaches("committed")

    replaced = {
        "begin": begin_first,
        "produce": produce_then,
        "flush": flush_then,
        "send_offsets": send_offsets_then,
        "commit": commit_then,
    }
    for name, method in replaced.items():
        setattr(kind, name, method)


if __name__ == "__main__":
    configure_logging()
    if "FATAL" in os.environ:
        call, _, number = os.environ["FATAL"].partition(":")
        install(Fatal(call, int(number)))
    sys.exit(run_scheduler(load_settings(os.environ)))
