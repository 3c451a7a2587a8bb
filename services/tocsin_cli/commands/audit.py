"""`tocsin audit`: the proof from the log."""

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.failures import NEGATIVE
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from rich.console import Group

    from tocsin_cli.audit import Finding, Report


def register(app: typer.Typer) -> None:
    app.command("audit", short_help="Prove from the log that nothing was lost.")(_audit)


def _audit(
    context: typer.Context,
    pool: Annotated[
        list[str] | None,
        typer.Option("--pool", metavar="NAME", help="May be repeated.", show_default="all"),
    ] = None,
) -> None:
    """Read the log and prove that each due occurrence has one run or one recorded reason.

    Works on a live system; claims nothing before `complete_since` nor after the watermark.
    Exit code 1 if an occurrence was lost, doubled or unfounded; each is named.
    """
    from tocsin.broker.kafka import KafkaCluster
    from tocsin.wire.topics import Topics
    from tocsin_cli.audit import audit
    from tocsin_cli.output import show
    from tocsin_cli.surroundings import settings

    found = settings()
    cluster = KafkaCluster(found.bootstrap(), found.kafka, client_id="tocsin-audit")
    findings: list[Finding] = []
    report = audit(cluster, Topics(found.prefix), pools=pool, on_finding=findings.append)
    answer = {
        "clean": report.is_clean,
        "partitions": report.partitions,
        "findings": findings,
        "undecodable": dict(report.undecodable),
        "lateness": report.lateness,
    }
    show(invocation_of(context).output, answer, lambda: _view(report, findings))
    if not report.is_clean:
        raise typer.Exit(NEGATIVE)


def _view(report: "Report", findings: "list[Finding]") -> "Group":
    from rich.console import Group
    from rich.text import Text

    from tocsin.timetable.instants import format_instant
    from tocsin_cli.output import table

    counts = ("jobs", "due", "once", "recorded", "waiting", "missed", "doubled", "unfounded")
    rows = [
        (
            each.partition,
            "the beginning" if each.complete_since is None else format_instant(each.complete_since),
            "-" if each.watermark is None else format_instant(each.watermark),
            *(getattr(each, name) for name in counts),
        )
        for each in report.partitions
    ]
    told = [
        f"{each.verdict}: {each.key} at {format_instant(each.scheduled_time)}, {each.detail}"
        for each in findings
    ]
    told += [f"{count} records of {topic} cannot be read" for topic, count in _unread(report)]
    told.append(_sentence(report))
    columns = ("partition", "complete since", "watermark", *counts)
    return Group(table(columns, rows), *map(Text, told))


def _unread(report: "Report") -> list[tuple[str, int]]:
    return sorted(report.undecodable.items())


def _sentence(report: "Report") -> str:
    if report.is_clean:
        return f"each of {report.total('due')} due occurrences has one run or one recorded reason"
    counts = {name: report.total(name) for name in ("missed", "doubled", "unfounded")}
    return "broken: " + ", ".join(f"{count} {name}" for name, count in counts.items() if count)
