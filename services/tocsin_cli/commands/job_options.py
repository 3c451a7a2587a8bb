"""The options of `tocsin job`: each field of a job that people give on a command line."""

from typing import Annotated, Literal

import typer

from tocsin.model.jobs import CatchUpPolicy, Overlap, Priority
from tocsin_cli.completions import job_ids

Phase = Literal["active", "paused", "completed"]


def _text(flag: str, metavar: str, help_: str) -> object:
    return typer.Option(flag, metavar=metavar, help=help_)


JobId = Annotated[str, typer.Argument(metavar="JOB_ID", autocompletion=job_ids)]
OptionalJobId = Annotated[
    str | None, typer.Argument(metavar="JOB_ID", help="May stand in the file instead.")
]
File = Annotated[
    str | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        help="A job, or a list of jobs, in JSON or YAML; - is standard input. Other options win "
        "over it.",
    ),
]

Cron = Annotated[str | None, _text("--cron", "EXPR", "Five or six fields, or @daily.")]
Every = Annotated[str | None, _text("--every", "DURATION", "Such as 90s or PT1H.")]
At = Annotated[str | None, _text("--at", "TIME", "Once, at an RFC 3339 time.")]
In = Annotated[str | None, _text("--in", "DURATION", "Once, so long from now.")]
Timezone = Annotated[str | None, _text("--tz", "ZONE", "Such as Europe/Berlin.")]

Url = Annotated[str | None, _text("--url", "URL", "Call this URL.")]
Method = Annotated[str | None, _text("--method", "METHOD", "By default POST.")]
Headers = Annotated[list[str] | None, _text("--header", "NAME:VALUE", "May be repeated.")]
Noop = Annotated[bool, typer.Option("--noop", help="Do nothing, successfully.")]

Payload = Annotated[str | None, _text("--payload", "JSON|@FILE", "What the handler is given.")]
Description = Annotated[str | None, _text("--description", "TEXT", "For people.")]
Owner = Annotated[str | None, _text("--owner", "NAME", "Whose it is.")]
Tags = Annotated[list[str] | None, _text("--tag", "NAME=VALUE", "May be repeated.")]
Pool = Annotated[str | None, _text("--pool", "NAME", "The workers that run it.")]
PriorityOption = Annotated[Priority | None, typer.Option("--priority", help="By default normal.")]
Jitter = Annotated[str | None, _text("--jitter", "DURATION", "Spread by up to this.")]
Timeout = Annotated[str | None, _text("--timeout", "DURATION", "Of an attempt.")]
QueueTimeout = Annotated[str | None, _text("--queue-timeout", "DURATION", "From due to start.")]
MaxAttempts = Annotated[
    int | None, typer.Option("--max-attempts", help="How often to try; 1 = never again.")
]
OverlapOption = Annotated[
    Overlap | None, typer.Option("--overlap", help="While one still runs; by default skip.")
]
CatchUp = Annotated[
    CatchUpPolicy | None, typer.Option("--catch-up", help="What is late; by default latest.")
]
MaxRuns = Annotated[int | None, typer.Option("--max-runs", help="Complete after so many runs.")]

IfRevision = Annotated[
    int | None,
    typer.Option("--if-revision", metavar="REVISION", help="Only if the job is at this revision."),
]
IfAbsent = Annotated[bool, typer.Option("--if-absent", help="Only if there is no such job.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check, and write nothing.")]
Diff = Annotated[
    bool, typer.Option("--diff", help="Show what changes; with --dry-run nothing is written.")
]
Prune = Annotated[
    str | None,
    typer.Option(
        "--prune",
        metavar="NAME=VALUE",
        help="Delete the tenant's jobs that have this tag and are not in the file; every job of "
        "the file must have it.",
    ),
]
