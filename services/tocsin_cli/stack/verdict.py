"""How a demo went, by its log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tocsin.broker.kafka import KafkaCluster
from tocsin.timetable.instants import format_instant
from tocsin.wire.topics import Topics
from tocsin_cli.audit.auditor import audit
from tocsin_cli.audit.report import Finding, Report

LAG_MS = 10_000
"""A watermark moves with the transactions; one further behind belongs to a scheduler that hangs."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """lines: for people, the summary first."""

    lines: list[str]
    is_good: bool


def verdict(brokers: str, kafka: Mapping[str, str], prefix: str, until: int) -> Verdict:
    """Audit the log of a scheduler that was stopped at `until`, epoch ms.

    Blocks until all is read; raises BrokerErrors.
    """
    findings: list[Finding] = []
    cluster = KafkaCluster(brokers, kafka, client_id="tocsin-audit")
    report = audit(cluster, Topics(prefix), on_finding=findings.append)
    return verdict_of(report, findings, until)


def verdict_of(report: Report, findings: Sequence[Finding], until: int) -> Verdict:
    """Good: something was due until `until`, epoch ms, and none of it missed or doubled."""
    behind = _behind(report, until)
    due = report.total("due")
    lines = [summary(report), *map(_told, findings), *behind]
    if due == 0:
        lines.append("nothing was due in this time: nothing is proven")
    return Verdict(lines, report.is_clean and not behind and due > 0)


def summary(report: Report) -> str:
    """Counts and lateness in one line."""
    counts = {
        "occurrences due": report.total("due"),
        "run once": report.total("once"),
        "recorded as not run": report.total("recorded"),
        "missed": report.total("missed"),
        "doubled": report.total("doubled"),
    }
    told = [f"{name} {count}" for name, count in counts.items()]
    if report.lateness is not None:
        told.append(f"lateness p50 {report.lateness.p50_ms} ms, p99 {report.lateness.p99_ms} ms")
    return " · ".join(told)


def _told(finding: Finding) -> str:
    at = format_instant(finding.scheduled_time)
    return f"{finding.verdict}: {finding.key.job_id} at {at}, {finding.detail}"


def _behind(report: Report, until: int) -> list[str]:
    """Of partitions far behind nothing is proven."""
    return [
        f"partition {each.partition} is accounted only up to {format_instant(each.watermark or 0)}"
        for each in report.partitions
        if (each.watermark or 0) < until - LAG_MS
    ]
