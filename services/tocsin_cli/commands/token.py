"""`tocsin token …`: API tokens, for those who are admin."""

from typing import Annotated

import typer

from tocsin.model.access import Role
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import invocation_of

NameArgument = Annotated[str, typer.Argument(metavar="NAME")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="API tokens: who may do what.", no_args_is_help=True)
    group.command("create")(_create)
    group.command("list")(_list)
    group.command("revoke")(_revoke)
    app.add_typer(group, name="token")


def _create(
    context: typer.Context,
    name: NameArgument,
    role: Annotated[Role, typer.Option(help="Each may do what those before it may.")],
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="For all tenants, not for one.")
    ] = False,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="DURATION", help="Such as 90d.")
    ] = None,
) -> None:
    """Make a token and show its secret, this once."""
    from tocsin import clock
    from tocsin.durations import parse_typed_duration_ms
    from tocsin.timetable.instants import to_datetime
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    expires_time = None
    if expires is not None:
        try:
            expires_time = to_datetime(clock.now_ms() + parse_typed_duration_ms(expires))
        except ValueError as error:
            raise CommandFailed(f"--expires {expires!r}: {error}", INVALID) from None
    with gateway(invocation_of(context)) as tocsin:
        made = tocsin.create_token(name, role, all_tenants=all_tenants, expires_time=expires_time)
    show(invocation_of(context).output, made, lambda: made.token)


def _list(context: typer.Context) -> None:
    """List tokens, revoked and expired ones too; never their secrets."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.job_views import time
    from tocsin_cli.output import show, table

    with gateway(invocation_of(context)) as tocsin:
        found = tocsin.tokens().items
    rows = [
        (each.name, each.role, each.tenant or "(all)", each.status, time(each.expires_time))
        for each in found
    ]
    columns = ("name", "role", "tenant", "status", "expires")
    show(
        invocation_of(context).output,
        found,
        lambda: table(columns, rows) if rows else "no tokens",
    )


def _revoke(context: typer.Context, name: NameArgument) -> None:
    """Let a token be good no more."""
    from tocsin_cli.connection import gateway
    from tocsin_cli.output import show

    with gateway(invocation_of(context)) as tocsin:
        tocsin.revoke_token(name)
    show(invocation_of(context).output, {"revoked": name}, lambda: f"{name} is revoked")
