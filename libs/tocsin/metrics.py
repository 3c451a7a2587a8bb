"""What Tocsin measures, for Prometheus: every name, once, with its meaning.

No label ever holds what users choose without bound: no job id, no run id, no tenant.
"""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from tocsin import __version__
from tocsin.bulk_histogram import BulkHistogram
from tocsin.timetable import TZDATA_VERSION

CONTENT_TYPE = CONTENT_TYPE_LATEST

_LATENESS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 600.0)
_TRANSACTION_S = (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.25, 2.5, 5.0, 10.0)
_REQUEST_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_RUN_S = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3_600.0, 21_600.0, 86_400.0)


class Metrics:
    """The metrics of one process, in a registry of their own; handed to whoever measures.

    Each service sets those that it knows; the others stay at nothing. Safe for several threads.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        self._measure_processes(registry)
        self._measure_scheduler(registry)
        self._measure_worker(registry)
        self._measure_gateway(registry)

    def exposition(self) -> bytes:
        """All values now, in the text format of `CONTENT_TYPE`."""
        return generate_latest(self.registry)

    def _measure_processes(self, registry: CollectorRegistry) -> None:
        self.build = Gauge(
            "tocsin_build_info",
            "Always 1: the version of Tocsin and of the time zone database it computes with.",
            ["version", "tzdata"],
            registry=registry,
        )
        self.build.labels(version=__version__, tzdata=TZDATA_VERSION).set(1)
        self.runs_open = Gauge(
            "tocsin_runs_open",
            "Unfinished runs: those in state (scheduler), those in slots (worker).",
            registry=registry,
        )
        self.records_refused = Counter(
            "tocsin_records_refused_total",
            "Records that could not be decoded or were not valid, by topic; the log names each.",
            ["topic"],
            registry=registry,
        )
        self.alarms = Counter(
            "tocsin_alarms_total",
            "What an operator must look at, by the log's action: clock, offsets, lag, projector.",
            ["action"],
            registry=registry,
        )

    def _measure_scheduler(self, registry: CollectorRegistry) -> None:
        self.fire_lateness = BulkHistogram(
            "tocsin_fire_lateness_seconds",
            "From an occurrence's due time to the commit of its run (scheduler).",
            buckets=_LATENESS_S,
            registry=registry,
        )
        self.watermark_lag = Gauge(
            "tocsin_watermark_lag_seconds",
            "How far the watermark is behind now, the worst of the owned partitions (scheduler).",
            registry=registry,
        )
        self.partitions_owned = Gauge(
            "tocsin_partitions_owned",
            "Partitions assigned, restored and claimed (scheduler).",
            registry=registry,
        )
        self.partitions = Gauge(
            "tocsin_partitions",
            "Partitions of the jobs topic, each of which needs an owner (scheduler).",
            registry=registry,
        )
        self.restore_remaining_records = Gauge(
            "tocsin_restore_remaining_records",
            "Records still to read before all assigned partitions can fire (scheduler).",
            registry=registry,
        )
        self.transaction = Histogram(
            "tocsin_transaction_seconds",
            "A transaction from its begin to its commit (scheduler).",
            buckets=_TRANSACTION_S,
            registry=registry,
        )
        self.occurrences = Counter(
            "tocsin_occurrences_total",
            "Occurrences accounted, by what became of them: emitted, skipped, missed (scheduler).",
            ["result"],
            registry=registry,
        )
        self.runs_dead = Counter(
            "tocsin_runs_dead_total",
            "Runs that used up their attempts or failed for good (scheduler).",
            registry=registry,
        )

    def _measure_worker(self, registry: CollectorRegistry) -> None:
        self.start_lateness = Histogram(
            "tocsin_start_lateness_seconds",
            "From a run's due time to its handler's start, first attempts only (worker).",
            buckets=_LATENESS_S,
            registry=registry,
        )
        self.run = Histogram(
            "tocsin_run_seconds",
            "An attempt from its handler's start to its end (worker).",
            buckets=_RUN_S,
            registry=registry,
        )
        self.outcomes = Counter(
            "tocsin_outcomes_total",
            "Outcomes written, by kind and by handler (worker).",
            ["kind", "handler"],
            registry=registry,
        )

    def _measure_gateway(self, registry: CollectorRegistry) -> None:
        self.projection_records = Counter(
            "tocsin_projection_records_total",
            "Records written to the read model (gateway).",
            registry=registry,
        )
        self.projection_lag = Gauge(
            "tocsin_projection_lag_seconds",
            "Age of the newest record in the read model while more is to be read (gateway).",
            registry=registry,
        )
        self.http_request = Histogram(
            "tocsin_http_request_seconds",
            "A request of the API, by method, route and status (gateway).",
            ["method", "route", "status"],
            buckets=_REQUEST_S,
            registry=registry,
        )
