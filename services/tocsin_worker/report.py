"""What workers say of themselves, and what they know of one another."""

from collections.abc import Callable

from tocsin.model.runs import Worker
from tocsin.wire import codec
from tocsin_worker.timers import Timer, Timers
from tocsin_worker.writer import LogWriter

REPORT_MS = 2_000
FRESH_MS = 3 * REPORT_MS
"""How long a report is believed."""


class Reporter:
    """Writes this worker's report every two seconds, and a tombstone when it ends."""

    def __init__(
        self, writer: LogWriter, topic: str, timers: Timers, report: Callable[[], Worker]
    ) -> None:
        self._writer = writer
        self._topic = topic
        self._timers = timers
        self._report = report
        self._timer: Timer | None = None

    def start(self) -> None:
        report = self._report()
        self._write(report.worker, codec.WORKER.encode(report))
        self._timer = self._timers.after(REPORT_MS, self.start)

    def stop(self) -> None:
        """Say that this worker is no more."""
        if self._timer is not None:
            self._timer.cancel()
        self._write(self._report().worker, None)

    def _write(self, worker: str, value: bytes | None) -> None:
        """Once: the next report says more than a repetition."""
        self._writer.write(self._topic, worker.encode(), value, repeat=False)


class Colleagues:
    """The other workers of the pool, by their latest reports."""

    def __init__(self, worker: str, pool: str, handlers: list[str], timers: Timers) -> None:
        self._worker = worker
        self._pool = pool
        self._handlers = frozenset(handlers)
        self._timers = timers
        self._reports: dict[str, tuple[Worker, int]] = {}

    def heard(self, report: Worker) -> None:
        if report.worker == self._worker or report.pool != self._pool:
            return
        if report.worker not in self._reports:
            self._forget_silent()  # every process has a name of its own
        self._reports[report.worker] = (report, self._timers.monotonic_ms())

    def could_take(self) -> bool:
        """Whether another worker has a free slot and all the handlers that this one has."""
        self._forget_silent()
        return any(
            report.free > 0 and self._handlers <= frozenset(report.handlers)
            for report, _ in self._reports.values()
        )

    def _forget_silent(self) -> None:
        now = self._timers.monotonic_ms()
        self._reports = {k: v for k, v in self._reports.items() if now - v[1] < FRESH_MS}
