"""`tocsin import crontab|k8s|quartz FILE`: other schedulers' jobs as jobs.yaml."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.failures import INVALID, NEGATIVE, CommandFailed
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from tocsin_cli.moving_in.imports import Import

File = Annotated[str, typer.Argument(metavar="FILE", help="`-` is standard input.")]
To = Annotated[
    str, typer.Option("--to", metavar="FILE", help="Where to write; `-` is standard output.")
]
Force = Annotated[bool, typer.Option("--force", help="Write over a file that is there.")]
Shadow = Annotated[
    bool, typer.Option("--shadow", help="With the handler noop: nothing is called, to compare.")
]
Zone = Annotated[
    str | None,
    typer.Option("--tz", metavar="ZONE", help="The old machine's time zone.", show_default="UTC"),
]

JOBS_FILE = "jobs.yaml"


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="Move in from another scheduler.", no_args_is_help=True)
    group.command("crontab")(_crontab)
    group.command("k8s")(_kubernetes)
    group.command("quartz")(_quartz)
    app.add_typer(group, name="import")


def _crontab(
    context: typer.Context,
    file: File,
    to: To = JOBS_FILE,
    tz: Zone = None,
    system: Annotated[
        bool, typer.Option("--system", help="Lines name a user, as in /etc/crontab.")
    ] = False,
    shadow: Shadow = False,
    force: Force = False,
) -> None:
    """Jobs of a crontab, as `crontab -l` writes it. Exit code 1 where one did not carry over."""
    from tocsin_cli.moving_in.crontab import import_crontab

    found = _imported(file, lambda text: import_crontab(text, system=system, timezone=tz))
    _finish(context, found, to, shadow=shadow, force=force)


def _kubernetes(
    context: typer.Context,
    file: File,
    to: To = JOBS_FILE,
    shadow: Shadow = False,
    force: Force = False,
) -> None:
    """CronJobs, as `kubectl get cronjobs -o yaml` writes them. Exit code 1 where one did not carry
    over."""
    from tocsin_cli.moving_in.kubernetes import import_kubernetes

    _finish(context, _imported(file, import_kubernetes), to, shadow=shadow, force=force)


def _quartz(
    context: typer.Context,
    file: File,
    to: To = JOBS_FILE,
    tz: Zone = None,
    shadow: Shadow = False,
    force: Force = False,
) -> None:
    """Triggers of Quartz' XML (job_scheduling_data). Exit code 1 where one did not carry over."""
    from tocsin_cli.moving_in.quartz import import_quartz

    found = _imported(file, lambda text: import_quartz(text, timezone=tz))
    _finish(context, found, to, shadow=shadow, force=force)


def _imported(file: str, read: "Callable[[str], Import]") -> "Import":
    from tocsin_cli.job_files import read_text
    from tocsin_cli.moving_in.imports import UnreadableFile

    try:
        return read(read_text(file))
    except UnreadableFile as error:
        raise CommandFailed(f"{file}: {error}", INVALID) from None


def _finish(context: typer.Context, found: "Import", to: str, *, shadow: bool, force: bool) -> None:
    """Write the jobs, tell the rest."""
    from tocsin_cli.job_files import write_definitions
    from tocsin_cli.moving_in.imports import in_shadow
    from tocsin_cli.output import show, table

    write_definitions(to, in_shadow(found.jobs) if shadow else found.jobs, force=force)
    answer = {"jobs": len(found.jobs), "not_carried_over": [n._asdict() for n in found.notices]}
    if to != "-" or found.notices:
        show(
            invocation_of(context).output,
            answer,
            lambda: table(
                (f"{len(found.jobs)} jobs; not carried over from", "what"),
                ((notice.where, notice.what) for notice in found.notices),
            ),
            to_stderr=to == "-",
        )
    if any(notice.lost for notice in found.notices):
        raise typer.Exit(NEGATIVE)
