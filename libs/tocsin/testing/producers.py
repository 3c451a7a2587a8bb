"""Writing in memory: records are in the log at once, their reports wait for `poll` or `flush`."""

from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Protocol

from tocsin.broker.deliveries import into
from tocsin.broker.errors import BrokerError, Die, Fenced, RecordRefused
from tocsin.broker.port import (
    MAX_METADATA_BYTES,
    MAX_RECORD_BYTES,
    AppendTime,
    Committed,
    Delivered,
    DeliveryCallback,
    GroupMetadata,
    Headers,
    TopicPartition,
)
from tocsin.testing.clock import SettableClock
from tocsin.testing.faults import Faults
from tocsin.testing.groups import Generation
from tocsin.testing.transactions import Transaction, TransactionCoordinator


class Appender(Protocol):
    """Puts a record where it belongs; raises `Die` (no such topic, a record it refuses)."""

    def __call__(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None,
        headers: Headers | None,
        transaction: Transaction | None,
    ) -> Delivered: ...


class _Reports:
    """Delivery reports on their way."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[DeliveryCallback, Delivered | BrokerError]] = deque()

    def add(self, callback: DeliveryCallback | None, report: Delivered | BrokerError) -> None:
        if callback is not None:
            self._waiting.append((callback, report))

    def serve(self) -> int:
        served = 0
        while self._waiting:
            callback, report = self._waiting.popleft()
            callback(report)
            served += 1
        return served


class MemoryProducer:
    """See `tocsin.broker.port.Producer`; unlike it, for one thread."""

    def __init__(self, append: Appender, faults: Faults) -> None:
        self._append = append
        self._faults = faults
        self._reports = _Reports()

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        _check_size(topic, key, value)
        try:
            report: Delivered | BrokerError = self._append(
                topic, key, value, partition, headers, None
            )
        except Die as refusal:
            report = refusal
        self._reports.add(on_delivery, report)

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
        return self._reports.serve()

    def flush(self, timeout: float) -> int:
        with self._faults.during("flush"):
            self._reports.serve()
            return 0

    def close(self) -> None:
        self._reports.serve()


class MemoryTransactionalProducer:
    """See `tocsin.broker.port.TransactionalProducer`. A fenced one learns so at its next call."""

    def __init__(
        self,
        transactional_id: str,
        append: Appender,
        coordinator: TransactionCoordinator,
        clock: SettableClock,
        faults: Faults,
    ) -> None:
        self._id = transactional_id
        self._append = append
        self._coordinator = coordinator
        self._clock = clock
        self._faults = faults
        self._epoch = -1
        self._in_transaction = False
        self._reports = _Reports()
        self._newest: Delivered | None = None
        self._refusal: Die | None = None
        self._last_append: AppendTime | None = None

    @property
    def last_append(self) -> AppendTime | None:
        return self._last_append

    def init(self, timeout: float) -> None:
        with self._faults.during("init"):
            self._epoch = self._coordinator.init(self._id)

    def begin(self) -> None:
        self._require(in_transaction=False)
        self._coordinator.check(self._id, self._epoch)
        self._in_transaction = True

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        transaction = self._transaction()
        _check_size(topic, key, value)
        try:
            self._newest = self._append(topic, key, value, partition, headers, transaction)
        except Die as refusal:
            self._refusal = refusal
            self._reports.add(on_delivery, refusal)
        else:
            self._reports.add(on_delivery, self._newest)

    def flush(self, timeout: float) -> None:
        with self._faults.during("flush"):
            self._serve()

    def send_offsets(
        self,
        offsets: Mapping[TopicPartition, tuple[int, str]],
        group_metadata: GroupMetadata,
        timeout: float,
    ) -> None:
        assert isinstance(group_metadata, Generation)
        with self._faults.during("send_offsets"):
            transaction = self._transaction()
            for tp, (offset, metadata) in offsets.items():
                if len(metadata.encode()) > MAX_METADATA_BYTES:
                    raise RecordRefused(
                        "the metadata is too long", code="OFFSET_METADATA_TOO_LARGE"
                    ).at(*tp, offset)
            if offsets:
                group_metadata.group.check(group_metadata)
                values = {tp: Committed(*value) for tp, value in offsets.items()}
                transaction.add_offsets(group_metadata.group, values)

    def commit(self, timeout: float) -> None:
        with self._faults.during("commit"):
            self._end(commit=True)

    def abort(self, timeout: float) -> None:
        with self._faults.during("abort"):
            self._end(commit=False)

    def close(self) -> None:
        """An open transaction stays open, as a killed process leaves it."""

    def _transaction(self) -> Transaction:
        self._require(in_transaction=True)
        return self._coordinator.current(self._id, self._epoch)

    def _end(self, *, commit: bool) -> None:
        self._require(in_transaction=True)
        if commit and self._refusal is not None:
            raise self._refusal
        self._coordinator.end(self._id, self._epoch, commit=commit)
        self._in_transaction = False
        self._refusal = None
        self._serve()

    def _serve(self) -> None:
        self._reports.serve()
        if self._newest is not None:
            append_ms = self._newest.timestamp
            self._last_append = AppendTime(append_ms, self._clock.monotonic_ms())
            self._newest = None

    def _require(self, *, in_transaction: bool) -> None:
        if self._epoch < 0 or self._in_transaction is not in_transaction:
            raise Fenced("the producer is not in the state for this call", code="_STATE")


def _check_size(topic: str, key: bytes | None, value: bytes | None) -> None:
    if len(key or b"") + len(value or b"") > MAX_RECORD_BYTES:
        raise RecordRefused("the record is too large", code="MSG_SIZE_TOO_LARGE").at(topic)
