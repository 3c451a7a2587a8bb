"""`tocsin status`: how far the scheduler has come, partition by partition."""

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.failures import NEGATIVE
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from rich.console import Group

    from tocsin_cli.partitions import PartitionStatus

LATE_MS = 10_000


def register(app: typer.Typer) -> None:
    app.command("status", short_help="Show how each partition stands.")(_status)


def _status(
    context: typer.Context,
    scheduler: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="A scheduler to ask as well; may be repeated.",
            show_default="http://127.0.0.1:9101",
        ),
    ] = None,
) -> None:
    """Show each partition's owner, watermark lag, stored jobs, open runs and backlog.

    Owner, watermark and backlog are what Kafka says; the rest is what the schedulers that can be
    reached say of themselves. Exit code 1 if a partition has no owner or lags over 10 s.
    """
    from tocsin.broker.kafka import KafkaCluster
    from tocsin.clock import now_ms
    from tocsin.wire.topics import Topics
    from tocsin_cli.output import show
    from tocsin_cli.partitions import DEFAULT_SCHEDULER, ask_schedulers, partition_statuses
    from tocsin_cli.surroundings import running_here, settings

    found = settings()
    cluster = KafkaCluster(found.bootstrap(), found.kafka, client_id="tocsin-status")
    here = running_here()
    told = ask_schedulers(scheduler, DEFAULT_SCHEDULER if here is None else here.scheduler_url)
    statuses = partition_statuses(cluster, Topics(found.prefix), now_ms(), told)
    late = [each.partition for each in statuses if each.is_behind(LATE_MS)]
    answer = {"partitions": statuses, "behind": late}
    show(invocation_of(context).output, answer, lambda: _view(statuses, late))
    if late:
        raise typer.Exit(NEGATIVE)


def _view(statuses: "list[PartitionStatus]", late: list[int]) -> "Group":
    from rich.console import Group
    from rich.text import Text

    from tocsin_cli.output import table

    columns = ("partition", "owner", "phase", "lag", "restoring", "jobs", "open runs", "backlog")
    rows = [
        (
            each.partition,
            each.owner or "nobody",
            each.phase,
            f"{each.lag_ms / 1_000:.1f} s",
            each.restoring,
            each.jobs,
            each.open_runs,
            each.backlog,
        )
        for each in statuses
    ]
    told = (
        f"behind: partitions {', '.join(map(str, late))}" if late else "all partitions are on time"
    )
    return Group(table(columns, rows), Text(told))
