"""What the work of the loop leaves in metrics and logs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from tocsin.broker.port import Record
from tocsin.broker.refused import log_refused, log_refused_at
from tocsin.metrics import Metrics
from tocsin.wire.topics import Topics
from tocsin_scheduler.core.turn import Turn

Refused = Callable[[Record, object], None]
"""Told of a record that is passed over, and why."""

Alarm = Literal[
    "clock_off", "offsets_foreign", "partition_stalled", "stable_offset_lags", "topic_made_again"
]
RESULTS = ("emitted", "skipped", "missed")


class Report:
    """Counts; decides nothing. What an alert watches is exposed from the start, at nothing: of a
    counter that appears with its first increment, Prometheus sees no increase."""

    def __init__(self, metrics: Metrics, topics: Topics) -> None:
        self._metrics = metrics
        self._topics = topics
        for action in get_args(Alarm):
            metrics.alarms.labels(action)
        for result in RESULTS:
            metrics.occurrences.labels(result)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Surrounds a transaction."""
        with self._metrics.transaction.time():
            yield

    def turn(self, partition: int, turn: Turn, committed_at: int) -> None:
        """A turn that has committed."""
        for result, count in turn.results.items():
            self._metrics.occurrences.labels(result).inc(count)
        self._metrics.runs_dead.inc(turn.dead)
        delay = committed_at - turn.now
        self._metrics.fire_lateness.observe_all([(late + delay) / 1000 for late in turn.lateness])
        for problem in turn.problems:
            topic = f"{self._topics.prefix}.{problem.topic}"
            log_refused_at(topic, partition, problem.offset, problem.reason)
            self._metrics.records_refused.labels(topic).inc()

    def refused(self, record: Record, reason: object) -> None:
        """A record that is passed over."""
        log_refused(record, reason)
        self._metrics.records_refused.labels(record.topic).inc()

    def alarm(self, action: Alarm) -> None:
        """Something that an operator must look at; its sentence is in the log."""
        self._metrics.alarms.labels(action).inc()
