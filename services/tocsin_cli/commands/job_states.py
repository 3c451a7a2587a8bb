"""`tocsin job pause|resume|delete`: one job, or all that fit."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.commands import job_options as options
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from tocsin.client import Client, Job
    from tocsin.client.operations import JobAction

Tag = Annotated[
    list[str] | None, typer.Option(metavar="NAME[=VALUE]", help="All jobs with this tag.")
]
Owner = Annotated[str | None, typer.Option(metavar="NAME", help="All jobs of this owner.")]
Search = Annotated[
    str | None,
    typer.Option("--search", metavar="TEXT", help="All: words begin so in id, owner, description."),
]
All = Annotated[bool, typer.Option("--all", help="All jobs of the tenant.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask, whatever their number.")]


def register(group: typer.Typer) -> None:
    group.command("pause")(_pause)
    group.command("resume")(_resume)
    group.command("delete")(_delete)


def _pause(
    context: typer.Context,
    job_id: options.OptionalJobId = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="Why, for others.")] = None,
    tag: Tag = None,
    owner: Owner = None,
    search: Search = None,
    all_: All = False,
    yes: Yes = False,
) -> None:
    """Let no further occurrence run until it is resumed: of one job, or of all that fit."""
    matching = _matching(job_id, tag, owner, search, every=all_) | {"status": "active"}
    if note is not None and job_id is None:
        raise CommandFailed("--note goes with one JOB_ID", INVALID)
    _set_status(
        context, "pause", job_id, lambda tocsin, one: tocsin.pause(one, note), matching, yes
    )


def _resume(
    context: typer.Context,
    job_id: options.OptionalJobId = None,
    tag: Tag = None,
    owner: Owner = None,
    search: Search = None,
    all_: All = False,
    yes: Yes = False,
) -> None:
    """Go on with the next occurrence: of one job, or of all that fit."""
    matching = _matching(job_id, tag, owner, search, every=all_) | {"status": "paused"}
    _set_status(context, "resume", job_id, lambda tocsin, one: tocsin.resume(one), matching, yes)


def _delete(
    context: typer.Context,
    job_id: options.OptionalJobId = None,
    if_revision: options.IfRevision = None,
    tag: Tag = None,
    owner: Owner = None,
    search: Search = None,
    all_: All = False,
    yes: Yes = False,
) -> None:
    """Delete one job, or all that fit; started runs end by themselves."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    matching = _matching(job_id, tag, owner, search, every=all_)
    if if_revision is not None and job_id is None:
        raise CommandFailed("--if-revision goes with one JOB_ID", INVALID)
    with gateway(invocation_of(context)) as tocsin:
        if job_id is None:
            _all(context, tocsin, "delete", matching, yes=yes)
            return
        tocsin.delete(job_id, if_revision=if_revision)
    show(invocation_of(context).output, {"deleted": job_id}, lambda: f"{job_id} is deleted")


def _set_status(
    context: typer.Context,
    action: "JobAction",
    job_id: str | None,
    to_one: Callable[["Client", str], "Job"],
    matching: dict[str, object],
    yes: bool,
) -> None:
    """Of the job, or where none is named of all that match."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    with gateway(invocation_of(context)) as tocsin:
        if job_id is None:
            _all(context, tocsin, action, matching, yes=yes)
            return
        job = to_one(tocsin, job_id)
    show(invocation_of(context).output, job, lambda: f"{job.job_id} is {job.info.phase}")


def _matching(
    job_id: str | None,
    tag: list[str] | None,
    owner: str | None,
    search: str | None,
    *,
    every: bool,
) -> dict[str, object]:
    """A filter of the API. Raises `CommandFailed` unless one job, or some, or all are meant."""
    tags = [each.replace("=", ":", 1) for each in tag or ()]
    asked: dict[str, object] = {"tag": tags, "owner": owner, "q": search}
    given = {name: value for name, value in asked.items() if value}
    if [job_id is not None, bool(given), every].count(True) != 1:
        raise CommandFailed("give JOB_ID, or --tag, --owner, --search, or --all", INVALID)
    return given


def _all(
    context: typer.Context,
    tocsin: "Client",
    action: "JobAction",
    matching: dict[str, object],
    *,
    yes: bool,
) -> None:
    from tocsin_cli.bulk import do_to_all, show_done

    done = do_to_all(partial(tocsin.bulk_jobs, action), matching, action, "jobs", yes=yes)
    sentence = f"{action}: {done.done:,} of {done.matched:,} jobs"
    show_done(invocation_of(context).output, done, sentence)
