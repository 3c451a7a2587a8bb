"""What is written to the log is written until it is heard of."""

import asyncio
from collections.abc import Callable

from tests.worker.support import ManualTimers
from tocsin.broker.errors import BrokerError, BrokerUnreachable, Die, OutcomeUnknown
from tocsin.broker.port import Delivered, DeliveryCallback, Headers
from tocsin.testing.producers import MemoryProducer
from tocsin_worker.writer import LogWriter

Report = Delivered | BrokerError
DELIVERED = Delivered("t", 0, 0, 0)


class Producer(MemoryProducer):
    """Answers each record with the next of the reports given; raises those in `refusals`."""

    def __init__(self, *reports: Report, refusals: int = 0) -> None:
        self.reports = list(reports)
        self.refusals = refusals
        self.written: list[tuple[str, bytes | None]] = []
        self.waiting: list[DeliveryCallback] = []

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        headers: Headers | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> None:
        if self.refusals:
            self.refusals -= 1
            raise BrokerUnreachable("the queue is full")
        self.written.append((topic, value))
        assert on_delivery is not None
        self.waiting.append(on_delivery)

    def poll(self, timeout: float) -> int:
        served = 0
        while self.waiting and self.reports:
            self.waiting.pop(0)(self.reports.pop(0))
            served += 1
        return served


def with_writer(
    producer: Producer, does: Callable[[LogWriter, ManualTimers, list[str]], None]
) -> list[str]:
    """What the writer called back, in order."""
    events: list[str] = []

    async def main() -> None:
        timers = ManualTimers()
        writer = LogWriter(producer, timers, lambda error: events.append(f"failed: {error.reason}"))
        does(writer, timers, events)
        events.append(f"settled: {await writer.settle(1)}")

    asyncio.run(main())
    return events


def test_a_record_is_heard_when_its_report_is_in_and_not_before() -> None:
    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", lambda: events.append("heard"))
        assert events == []
        timers.advance(2)

    assert with_writer(Producer(DELIVERED), does) == ["heard", "settled: True"]


def test_without_a_report_nothing_is_settled() -> None:
    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", lambda: events.append("heard"))
        timers.advance(60_000)

    assert with_writer(Producer(), does) == ["settled: False"]


def test_a_record_that_is_written_once_need_not_be_heard_for_all_to_be_settled() -> None:
    """Nobody misses the report of a worker that has gone."""

    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", repeat=False)

    assert with_writer(Producer(), does) == ["settled: True"]


def test_a_record_that_may_or_may_not_be_in_the_log_is_written_again() -> None:
    producer = Producer(OutcomeUnknown("timed out"), BrokerUnreachable("gone"), DELIVERED)

    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", lambda: events.append("heard"))
        timers.advance(5_000)

    assert with_writer(producer, does) == ["heard", "settled: True"]
    assert producer.written == [("t", b"v")] * 3


def test_a_full_queue_is_tried_again_too() -> None:
    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", lambda: events.append("heard"))
        timers.advance(5_000)

    assert with_writer(Producer(DELIVERED, refusals=1), does) == ["heard", "settled: True"]


def test_what_is_written_once_is_given_up() -> None:
    producer = Producer(OutcomeUnknown("timed out"))

    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", lambda: events.append("heard"), repeat=False)
        timers.advance(5_000)

    assert with_writer(producer, does) == ["settled: True"]
    assert len(producer.written) == 1


def test_what_no_repetition_helps_is_told_and_never_taken_for_written() -> None:
    def does(writer: LogWriter, timers: ManualTimers, events: list[str]) -> None:
        writer.write("t", b"k", b"v", lambda: events.append("heard"))
        timers.advance(5_000)

    assert with_writer(Producer(Die("no rights")), does) == ["failed: no rights", "settled: False"]
