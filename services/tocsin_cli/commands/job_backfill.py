"""`tocsin job backfill`, `backfills` and `cancel-backfill`: slots of a time that has passed."""

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.commands import job_options as options
from tocsin_cli.failures import NEGATIVE, CommandFailed
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from tocsin.client import Backfill, Client

_PAUSE_S = 0.5


def register(group: typer.Typer) -> None:
    group.command("backfill")(_backfill)
    group.command("backfills")(_backfills)
    group.command("cancel-backfill")(_cancel)


def _backfill(
    context: typer.Context,
    job_id: options.JobId,
    start: Annotated[str, typer.Option("--from", metavar="TIME|AGO", help="The first slot's.")],
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME|AGO", help="Slots before this time; by default now."),
    ] = None,
    overlap: options.OverlapOption = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Until each slot has a run; exit code 1 if it ends so.")
    ] = False,
) -> None:
    """Run each slot of a job in a time that has passed, also those that ran."""
    from tocsin import clock
    from tocsin.timetable.instants import to_datetime
    from tocsin_cli.connection import gateway
    from tocsin_cli.instants import past_instant
    from tocsin_cli.output import show

    first = past_instant("--from", start)
    last = to_datetime(clock.now_ms()) if end is None else past_instant("--to", end)
    with gateway(invocation_of(context)) as tocsin:
        backfill = tocsin.backfill(job_id, first, last, overlap=overlap)
        if wait:
            backfill = _until_ended(tocsin, backfill)
    show(invocation_of(context).output, backfill, lambda: _sentence(backfill))
    if wait and backfill.status != "finished":
        raise typer.Exit(NEGATIVE)


def _backfills(context: typer.Context, job_id: options.JobId) -> None:
    """List the newest backfills of a job with their progress."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.job_views import time
    from tocsin_cli.output import show, table

    with gateway(invocation_of(context)) as tocsin:
        found = tocsin.backfills(job_id).items
    columns = ("backfill", "status", "accounted", "slots", "requested", "reason")
    rows = [
        (
            each.backfill_id,
            each.status,
            each.accounted,
            each.slots,
            time(each.requested_time),
            each.reason,
        )
        for each in found
    ]
    show(
        invocation_of(context).output,
        found,
        lambda: table(columns, rows) if rows else "no backfills",
    )


def _cancel(
    context: typer.Context,
    backfill_id: Annotated[str, typer.Argument(metavar="BACKFILL_ID")],
) -> None:
    """Run none of the slots that are left; exit code 4 if it has ended."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    with gateway(invocation_of(context)) as tocsin:
        backfill = tocsin.cancel_backfill(backfill_id)
    show(invocation_of(context).output, backfill, lambda: f"cancelling {backfill.backfill_id}")


def _until_ended(tocsin: "Client", backfill: "Backfill") -> "Backfill":
    """Looks again and again, with a progress bar on a terminal."""
    from time import sleep

    from tocsin_cli.progress import counting_down

    with counting_down(backfill.backfill_id, "slots") as tell:
        while not backfill.has_ended:
            tell((backfill.slots or 0) - backfill.accounted)
            sleep(_PAUSE_S)
            backfill = _as_it_is(tocsin, backfill)
    return backfill


def _as_it_is(tocsin: "Client", backfill: "Backfill") -> "Backfill":
    for found in tocsin.backfills(backfill.job_id).items:
        if found.backfill_id == backfill.backfill_id:
            return found
    raise CommandFailed(
        f"{backfill.backfill_id} goes on, but is not among the newest backfills of its job any "
        "more; `tocsin run list --job` shows its runs",
        NEGATIVE,
    )


def _sentence(backfill: "Backfill") -> str:
    why = f": {backfill.reason}" if backfill.reason else ""
    return (
        f"{backfill.backfill_id} {backfill.status}{why}, "
        f"{backfill.accounted} of {backfill.slots} slots"
    )
