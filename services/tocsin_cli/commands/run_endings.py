"""`tocsin run redrive` and `tocsin run complete`."""

from functools import partial
from typing import Annotated

import typer

from tocsin_cli.commands.run_options import (
    HandlerOption,
    RunArgument,
    SinceOption,
    TagOption,
    UntilOption,
)
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import invocation_of


def register(group: typer.Typer) -> None:
    group.command("redrive")(_redrive)
    group.command("complete")(_complete)


def _redrive(
    context: typer.Context,
    run_id: Annotated[str | None, typer.Argument(metavar="RUN_ID", help="One dead run.")] = None,
    job: Annotated[
        str | None, typer.Option("--job", metavar="JOB_ID", help="All dead runs of a job.")
    ] = None,
    tag: TagOption = None,
    handler: HandlerOption = None,
    since: SinceOption = None,
    until: UntilOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask, whatever their number.")] = False,
) -> None:
    """Run a dead run again, or all dead ones that fit; they are counted first."""
    from tocsin_cli.bulk import do_to_all, show_done
    from tocsin_cli.connection import gateway
    from tocsin_cli.instants import past_instant
    from tocsin_cli.output import show

    matching: dict[str, object] = {
        "job_id": job,
        "tag": [each.replace("=", ":", 1) for each in tag or ()],
        "handler": handler,
        "since": None if since is None else past_instant("--since", since),
        "until": None if until is None else past_instant("--until", until),
    }
    given = {name: value for name, value in matching.items() if value}
    if (run_id is None) == (not given):
        raise CommandFailed("give RUN_ID, or --job, --tag, --handler, --since, --until", INVALID)
    with gateway(invocation_of(context)) as tocsin:
        if run_id is not None:
            run = tocsin.redrive(run_id)
            show(invocation_of(context).output, run, lambda: f"{run.run_id} {run.status}")
            return
        redrive = partial(tocsin.bulk_runs, "redrive")
        done = do_to_all(redrive, given, "redrive", "dead runs", yes=yes)
    show_done(
        invocation_of(context).output, done, f"{done.done:,} of {done.matched:,} runs redriven"
    )


def _complete(
    context: typer.Context,
    run_id: RunArgument,
    result: Annotated[
        str | None, typer.Option("--result", metavar="JSON|@FILE", help="What came of it.")
    ] = None,
    failed: Annotated[
        str | None, typer.Option("--failed", metavar="MESSAGE", help="It failed, and why.")
    ] = None,
    permanent: Annotated[
        bool, typer.Option("--permanent", help="With --failed: another attempt cannot help.")
    ] = False,
) -> None:
    """Say how a run ended that its handler has left open; exit code 4 if it is not open."""
    from tocsin_cli import job_files as files
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    if result is not None and failed is not None:
        raise CommandFailed("give one of --result and --failed", INVALID)
    with gateway(invocation_of(context)) as tocsin:
        if failed is not None:
            run = tocsin.complete(run_id, error=failed, permanent=permanent)
        else:
            value = None if result is None else files.payload_of(result, "--result")
            run = tocsin.complete(run_id, result=value)
    show(invocation_of(context).output, run, lambda: f"{run.run_id} {run.status}")
