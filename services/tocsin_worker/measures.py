"""The worker's gauges as Prometheus metrics."""

from collections.abc import Collection

from prometheus_client import Counter

from tocsin.metrics import Metrics
from tocsin.model.runs import OutcomeKind, Run

OTHER_HANDLER = "other"
"""Label of handler types that this worker does not have: jobs may name any."""


class PrometheusGauges:
    """The `Gauges` of a worker process."""

    def __init__(self, metrics: Metrics, handlers: Collection[str]) -> None:
        self._metrics = metrics
        self._handlers = frozenset(handlers)
        self._outcomes: dict[tuple[OutcomeKind, str], Counter] = {}

    def started(self, run: Run, lateness_ms: int) -> None:
        if run.attempt == 1:
            self._metrics.start_lateness.observe(max(0, lateness_ms) / 1000)

    def ended(self, run: Run, kind: OutcomeKind, duration_ms: int | None) -> None:
        handler = run.handler.type if run.handler.type in self._handlers else OTHER_HANDLER
        self._counter(kind, handler).inc()
        if duration_ms is not None:
            self._metrics.run.observe(duration_ms / 1000)

    def undecodable(self, topic: str) -> None:
        self._metrics.records_refused.labels(topic).inc()

    def _counter(self, kind: OutcomeKind, handler: str) -> Counter:
        """Found again by a plain lookup: `labels` costs more than the rest of the counting."""
        counter = self._outcomes.get((kind, handler))
        if counter is None:
            counter = self._outcomes[kind, handler] = self._metrics.outcomes.labels(kind, handler)
        return counter
