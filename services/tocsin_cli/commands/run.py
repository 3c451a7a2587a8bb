"""`tocsin run …`: what has run, runs, and did not."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from tocsin.model.runs import RunStatus
from tocsin_cli.commands import run_endings
from tocsin_cli.commands.run_options import (
    HandlerOption,
    RunArgument,
    SinceOption,
    TagOption,
    UntilOption,
)
from tocsin_cli.completions import job_ids, statuses
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from datetime import datetime

    from tocsin.client import Run

LIMIT = 50


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Runs and their history.", no_args_is_help=True)
    group.command("list")(_list)
    group.command("get")(_get)
    group.command("cancel")(_cancel)
    run_endings.register(group)
    app.add_typer(group, name="run")


def _list(
    context: typer.Context,
    job: Annotated[
        str | None,
        typer.Argument(metavar="JOB_ID", help="Of this job alone.", autocompletion=job_ids),
    ] = None,
    status: Annotated[
        list[str] | None,
        typer.Option(
            metavar="STATUS", help="Such as dead; may be repeated.", autocompletion=statuses
        ),
    ] = None,
    tag: TagOption = None,
    handler: HandlerOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    limit: Annotated[int, typer.Option(min=1, help="No more than these, the newest.")] = LIMIT,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Look again every 2 s, until Ctrl-C.")
    ] = False,
) -> None:
    """List runs by their scheduled time, newest first.

    With --watch a terminal shows a table that follows; a pipe gets a line for each change, in
    JSON with --output json.
    """
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import limited, show
    from tocsin_cli.run_views import run_table
    from tocsin_cli.tags import tag_filter

    wanted: dict[str, Any] = {
        "status": _statuses(status or ()),
        "tags": tag_filter(tag or ()),
        "handler": handler,
        "since": _instant("--since", since),
        "until": _instant("--until", until),
        "page_size": min(limit + 1, 500),
    }
    with gateway(invocation_of(context)) as tocsin:
        if watch:
            _watch(context, lambda: list(islice(tocsin.runs(job, **wanted), limit)))
        runs = limited(tocsin.runs(job, **wanted), limit)
    show(invocation_of(context).output, runs, lambda: run_table(runs) if runs else "no runs")


def _watch(context: typer.Context, look: "Callable[[], list[Run]]") -> None:
    from tocsin_cli.watching import watch

    watch(invocation_of(context).output, look)


def _get(context: typer.Context, run_id: RunArgument) -> None:
    """Show one run with its attempts and what was decided about it."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show
    from tocsin_cli.run_views import run_view

    with gateway(invocation_of(context)) as tocsin:
        run = tocsin.run(run_id)
    show(invocation_of(context).output, run, lambda: run_view(run))


def _cancel(context: typer.Context, run_id: RunArgument) -> None:
    """Stop a run; exit code 4 if it has ended already."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    with gateway(invocation_of(context)) as tocsin:
        run = tocsin.cancel(run_id)
    show(invocation_of(context).output, run, lambda: f"cancelling {run.run_id}")


def _statuses(words: Sequence[str]) -> list[RunStatus]:
    known: tuple[RunStatus, ...] = get_args(RunStatus)
    for word in words:
        if word not in known:
            raise CommandFailed(f"--status {word!r}: write one of {', '.join(known)}", INVALID)
    return [status for status in known if status in words]


def _instant(option: str, text: str | None) -> "datetime | None":
    from tocsin_cli.instants import past_instant

    return None if text is None else past_instant(option, text)
