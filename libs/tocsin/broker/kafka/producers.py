"""Writing: single records, and transactions."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

import confluent_kafka as ck

from tocsin import clock
from tocsin.broker.deliveries import into
from tocsin.broker.errors import AbortTransaction, BrokerError, BrokerUnreachable, OutcomeUnknown
from tocsin.broker.kafka.bounded import BoundedCalls, CallHung
from tocsin.broker.kafka.clients import make_client
from tocsin.broker.kafka.logs import PendingErrors
from tocsin.broker.kafka.members import KafkaGroupMetadata
from tocsin.broker.kafka.settings import Conf
from tocsin.broker.kafka.translate import raise_translated, translate, translating
from tocsin.broker.port import (
    AppendTime,
    Delivered,
    DeliveryCallback,
    GroupMetadata,
    Headers,
    TopicPartition,
)

FULL_QUEUE_TIMEOUT_MS = 5_000
SAMPLE_EVERY = 512

ClientCallback = Callable[[ck.KafkaError | None, ck.Message], None]


def _queue(
    client: ck.Producer,
    topic: str,
    key: bytes | None,
    value: bytes | None,
    partition: int | None,
    headers: Headers | None,
    on_delivery: ClientCallback | None,
) -> None:
    """Hand a record to the client; while its queue is full, serve reports to make room."""
    number = -1 if partition is None else partition
    deadline: int | None = None
    while True:
        try:
            client.produce(
                topic,
                value,
                key,
                number,
                on_delivery=on_delivery,
                headers=headers or None,  # type: ignore[arg-type]  # ours are narrower
            )
        except BufferError:
            deadline = deadline or clock.monotonic_ms() + FULL_QUEUE_TIMEOUT_MS
            if clock.monotonic_ms() >= deadline:
                reason = f"the producer's queue has been full for {FULL_QUEUE_TIMEOUT_MS} ms"
                raise BrokerUnreachable(reason, code="_QUEUE_FULL", topic=topic) from None
            client.poll(0.05)
        except ck.KafkaException as exception:
            raise_translated(exception, "write", topic=topic)
        else:
            return


class KafkaProducer:
    """See `tocsin.broker.port.Producer`."""

    def __init__(self, conf: Conf) -> None:
        self._errors = PendingErrors()
        self._client = make_client(ck.Producer, {**conf, "error_cb": self._errors.error_cb})

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        callback = None if on_delivery is None else partial(_report, on_delivery)
        _queue(self._client, topic, key, value, partition, headers, callback)

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
    ) -> "Future[Delivered]":
        future: Future[Delivered] = Future()
        self.produce(topic, key, value, partition, headers, into(future))
        return future

    def poll(self, timeout: float) -> int:
        self._errors.raise_first()
        with translating("write"):
            return self._client.poll(timeout)

    def flush(self, timeout: float) -> int:
        self._errors.raise_first()
        with translating("write"):
            return self._client.flush(timeout)

    def close(self) -> None:
        _let_go(self._client)


class KafkaTransactionalProducer:
    """See `tocsin.broker.port.TransactionalProducer`."""

    def __init__(self, conf: Conf) -> None:
        self._errors = PendingErrors()
        self._client = make_client(ck.Producer, {**conf, "error_cb": self._errors.error_cb})
        self._bounded = BoundedCalls()
        self._count = 0
        self._last_append: AppendTime | None = None

    @property
    def last_append(self) -> AppendTime | None:
        return self._last_append

    def init(self, timeout: float) -> None:
        try:
            with translating("register the producer"):
                self._client.init_transactions(timeout)
        except BrokerUnreachable:
            self._client.poll(0)
            self._errors.raise_first()
            raise

    def begin(self) -> None:
        self._count = 0
        with translating("begin a transaction"):
            self._client.begin_transaction()

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        callback: ClientCallback | None = None
        if on_delivery is not None:
            callback = partial(self._report, on_delivery)
        elif self._count % SAMPLE_EVERY == 0:
            callback = self._note
        self._count += 1
        _queue(self._client, topic, key, value, partition, headers, callback)

    def flush(self, timeout: float) -> None:
        with translating("write the transaction's records", on_timeout=AbortTransaction):
            left = self._client.flush(timeout)
        if left:
            raise AbortTransaction(f"{left} records were not written in {timeout} s")

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, tuple[int, str]],
        group_metadata: GroupMetadata,
        timeout: float,
    ) -> None:
        assert isinstance(group_metadata, KafkaGroupMetadata)
        places = [
            ck.TopicPartition(*tp, offset, metadata)
            for tp, (offset, metadata) in offsets.items()
        ]  # fmt: skip
        call = partial(
            self._client.send_offsets_to_transaction, places, group_metadata.of_client, timeout
        )
        try:
            with translating("add offsets to the transaction", on_timeout=AbortTransaction):
                self._bounded.run(call, timeout)
        except CallHung:
            reason = f"adding offsets to the transaction has not returned after {timeout} s"
            raise OutcomeUnknown(reason) from None

    def commit(self, timeout: float) -> None:
        with translating("commit the transaction", on_timeout=OutcomeUnknown):
            self._client.commit_transaction(timeout)

    def abort(self, timeout: float) -> None:
        with translating("abort the transaction", on_timeout=OutcomeUnknown):
            self._client.abort_transaction(timeout)

    def close(self) -> None:
        if not self._bounded.is_hung:
            self._bounded.close()
            _let_go(self._client)

    def _report(
        self, on_delivery: DeliveryCallback, error: ck.KafkaError | None, message: ck.Message
    ) -> None:
        self._note(error, message)
        _report(on_delivery, error, message)

    def _note(self, error: ck.KafkaError | None, message: ck.Message) -> None:
        kind, append_ms = message.timestamp()
        is_known = error is None and message.offset() is not None
        if is_known and kind == ck.TIMESTAMP_LOG_APPEND_TIME:
            self._last_append = AppendTime(append_ms, clock.monotonic_ms())


def _report(
    on_delivery: DeliveryCallback, error: ck.KafkaError | None, message: ck.Message
) -> None:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    if error is not None:
        on_delivery(translate(error, "write", topic=topic, on_timeout=OutcomeUnknown))
        return
    assert partition is not None
    on_delivery(Delivered(topic, partition, offset, message.timestamp()[1]))


def _let_go(client: ck.Producer) -> None:
    """Drop what is queued, serve its reports, leave the rest to the client's own end. The client's
    `close` is not for this: it aborts the open transaction and waits for the brokers."""
    with suppress(BrokerError), translating("let a producer go"):
        client.purge()
        client.flush(0)
