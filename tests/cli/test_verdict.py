"""When a demo counts as good."""

import pytest

from tocsin.model.keys import JobKey
from tocsin_cli.audit.report import Finding, Lateness, PartitionReport, Report
from tocsin_cli.stack.verdict import LAG_MS, verdict_of

NOW = 1_767_225_600_000
CLEAN = PartitionReport(partition=0, complete_since=None, watermark=NOW, due=5, once=4, recorded=1)
LATENESS = Lateness(runs=4, p50_ms=9, p99_ms=31, max_ms=31)


def report(*partitions: PartitionReport) -> Report:
    return Report(partitions=list(partitions), undecodable={}, lateness=LATENESS)


def changed(**changes: int | None) -> PartitionReport:
    fields = {name: getattr(CLEAN, name) for name in CLEAN.__struct_fields__}
    return PartitionReport(**{**fields, **changes})


def test_all_run_once_is_good_and_told_in_one_line() -> None:
    found = verdict_of(report(CLEAN, changed(partition=1)), [], NOW)
    assert found.is_good
    (line,) = found.lines
    counts, _, lateness = line.rpartition(" · ")
    assert counts == (
        "occurrences due 10 · run once 8 · recorded as not run 2 · missed 0 · doubled 0"
    )
    assert lateness == "lateness p50 9 ms, p99 31 ms"


@pytest.mark.parametrize("wrong", ["missed", "doubled", "unfounded"])
def test_one_that_is_wrong_spoils_it_and_is_named(wrong: str) -> None:
    finding = Finding(
        partition=0,
        key=JobKey("default", "tick"),
        scheduled_time=NOW,
        verdict="missed",
        detail="neither run nor recorded",
    )
    found = verdict_of(report(changed(**{wrong: 1})), [finding], NOW)
    assert not found.is_good
    assert found.lines[1] == "missed: tick at 2026-01-01T00:00:00Z, neither run nor recorded"


@pytest.mark.parametrize("watermark", [None, NOW - LAG_MS - 1])
def test_a_partition_that_was_left_behind_proves_nothing(watermark: int | None) -> None:
    found = verdict_of(report(CLEAN, changed(partition=1, watermark=watermark)), [], NOW)
    assert not found.is_good
    assert found.lines[1].startswith("partition 1 is accounted only up to ")


def test_a_little_behind_is_good() -> None:
    assert verdict_of(report(changed(watermark=NOW - LAG_MS)), [], NOW).is_good


def test_nothing_due_proves_nothing() -> None:
    found = verdict_of(report(changed(due=0, once=0, recorded=0)), [], NOW)
    assert not found.is_good
    assert "nothing was due" in found.lines[-1]
