"""Metrics: the documented names, and no label that grows with the users' data."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tocsin import __version__
from tocsin.metrics import Metrics
from tocsin.timetable import TZDATA_VERSION

DOCUMENTED = {
    "tocsin_fire_lateness_seconds": "histogram",
    "tocsin_start_lateness_seconds": "histogram",
    "tocsin_watermark_lag_seconds": "gauge",
    "tocsin_partitions": "gauge",
    "tocsin_partitions_owned": "gauge",
    "tocsin_restore_remaining_records": "gauge",
    "tocsin_transaction_seconds": "histogram",
    "tocsin_run_seconds": "histogram",
    "tocsin_outcomes": "counter",
    "tocsin_occurrences": "counter",
    "tocsin_runs_open": "gauge",
}


def test_every_documented_name_is_there_with_its_kind_and_a_sentence() -> None:
    families = {
        family.name: family
        for family in text_string_to_metric_families(Metrics().exposition().decode())
    }
    assert {name: families[name].type for name in DOCUMENTED} == DOCUMENTED
    ours = [family for name, family in families.items() if name.startswith("tocsin_")]
    assert all(family.documentation.endswith(".") for family in ours)


def test_the_labels_are_few_and_bounded() -> None:
    metrics = Metrics()
    metrics.outcomes.labels(kind="succeeded", handler="http").inc()
    metrics.occurrences.labels(result="emitted").inc(3)
    metrics.records_refused.labels(topic="tocsin.jobs").inc()
    metrics.alarms.labels(action="clock_behind").inc()
    labels = {
        name
        for family in metrics.registry.collect()
        if family.name.startswith("tocsin_")
        for sample in family.samples
        for name in sample.labels
    }
    assert labels == {"kind", "handler", "result", "topic", "action", "le", "version", "tzdata"}


def test_the_time_zone_database_is_told() -> None:
    value = Metrics().registry.get_sample_value(
        "tocsin_build_info", {"version": __version__, "tzdata": TZDATA_VERSION}
    )
    assert value == pytest.approx(1)


def test_two_processes_in_one_test_do_not_share_values() -> None:
    first, second = Metrics(), Metrics()
    first.partitions_owned.set(8)
    assert second.registry.get_sample_value("tocsin_partitions_owned") == 0


def test_a_counter_is_read_under_its_documented_name() -> None:
    metrics = Metrics()
    metrics.outcomes.labels(kind="failed", handler="noop").inc()
    value = metrics.registry.get_sample_value(
        "tocsin_outcomes_total", {"kind": "failed", "handler": "noop"}
    )
    assert value == pytest.approx(1)
