"""`tocsin events`: what happens to jobs and runs, as it happens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.completions import event_types, job_ids
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import Output, invocation_of

if TYPE_CHECKING:
    from tocsin.client import LiveEvent


def register(app: typer.Typer) -> None:
    app.command("events", short_help="Follow what happens to jobs and runs.")(_events)


def _events(
    context: typer.Context,
    job: Annotated[
        str | None,
        typer.Argument(metavar="JOB_ID", help="Of this job alone.", autocompletion=job_ids),
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Such as dead or succeeded; may be repeated.",
            autocompletion=event_types,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Begin behind this event; --output json shows ids."),
    ] = None,
) -> None:
    """Show decisions of the scheduler and what workers say of runs, a line each, until Ctrl-C.

    Runs that take less than a second say no more than how they ended.
    """
    from tocsin_cli.connection import gateway

    _check(types or ())
    invocation = invocation_of(context)
    with gateway(invocation) as tocsin:
        for event in tocsin.events(job, types=types or (), after=after):
            print(_line(event, invocation.output), flush=True)


def _check(types: Sequence[str]) -> None:
    known = event_types("")
    for word in types:
        if word not in known:
            raise CommandFailed(f"--type {word!r}: write one of {', '.join(known)}", INVALID)


def _line(event: "LiveEvent", output: Output) -> str:
    from msgspec.structs import asdict

    from tocsin_cli.output import json_of, plain
    from tocsin_cli.run_rows import time_of_day

    if output != "table":
        return json_of({name: said for name, said in asdict(event).items() if said is not None})
    attempt = None if event.attempt is None else f"attempt {event.attempt}"
    count = None if event.count == 1 else f"{event.count:,} occurrences"
    why = event.reason or (event.error and f"{event.error.code}, {event.error.message}")
    about = (event.run_id or event.job_id, attempt, count, why)
    begin = (time_of_day(event.time), f"{event.type:15}")
    return plain("  ".join([*begin, *(each for each in about if each)]))
