"""The entry point `tocsin`: the commands put together, and what becomes of errors.

Exit codes: 0 · 1 a negative answer · 2 usage or invalid · 3 unreachable · 4 conflict ·
130 interrupted.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tocsin import __version__
from tocsin_cli.commands import (
    audit,
    broker,
    demo,
    events,
    gateway,
    import_,
    job,
    next,  # noqa: A004 — the command's name
    run,
    scheduler,
    schemas,
    status,
    tail,
    token,
    topics,
    worker,
)
from tocsin_cli.failures import explain
from tocsin_cli.invocation import Invocation, OutputOption, TenantOption, share_options

COMMANDS = (
    demo,
    broker,
    topics,
    scheduler,
    worker,
    gateway,
    job,
    run,
    events,
    token,
    next,
    status,
    audit,
    tail,
    schemas,
    import_,
)
"""In the order of the help."""

ANSWERING = (
    "topics",
    "status",
    "job",
    "run",
    "events",
    "token",
    "next",
    "audit",
    "tail",
    "schemas",
    "import",
)
"""Those whose answer people and programs read."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command, by default the process's own arguments; ends by SystemExit.

    A user's mistake is one sentence on stderr; only a defect of Tocsin shows a traceback.
    """
    command = get_command(build_app())
    assert isinstance(command, TyperGroup)
    share_options(command, ANSWERING)
    try:
        command.main(args=arguments, prog_name="tocsin", obj=Invocation())
    except Exception as error:
        failure = explain(error)
        if failure is None:
            raise
        print(f"tocsin: {failure.sentence}", file=sys.stderr)
        sys.exit(failure.exit_code)
    raise AssertionError("a command ends by SystemExit")


def build_app() -> typer.Typer:
    """The command line, ready to be run or looked through."""
    app = typer.Typer(
        help="A distributed job scheduler whose only shared component is Apache Kafka.",
        epilog="Settings are variables TOCSIN_* of the environment. Exit codes: 0 · 1 a negative "
        "answer · 2 usage or invalid · 3 unreachable · 4 conflict · 130 interrupted.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_globals)
    for module in COMMANDS:
        module.register(app)
    return app


def _show_version(asked: bool) -> None:
    if asked:
        print(f"tocsin {__version__}")
        raise typer.Exit


def _globals(
    output: OutputOption = None,
    tenant: TenantOption = None,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Show the version.",
            is_eager=True,
            expose_value=False,
            callback=_show_version,
        ),
    ] = False,
) -> None:
    """The options that stand before any command."""
