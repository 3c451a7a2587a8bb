"""`tocsin gateway` and `tocsin gateway rebuild`."""

import typer


def register(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True)
    group.callback()(_gateway)
    group.command("rebuild")(_rebuild)
    app.add_typer(group, name="gateway", short_help="Run a gateway until SIGTERM.")


def _gateway(context: typer.Context) -> None:
    """Run a gateway until SIGTERM: the HTTP API over jobs and runs."""
    if context.invoked_subcommand is not None:
        return
    from tocsin_cli.services import serve
    from tocsin_gateway.service import run_gateway

    serve(run_gateway)


def _rebuild() -> None:
    """Build the gateway's read model anew from the log, beside the one in use."""
    from tocsin_cli.progress import counting_down
    from tocsin_cli.services import serve
    from tocsin_gateway.service import rebuild_read_model

    with counting_down("reading the log") as tell:
        serve(lambda settings: rebuild_read_model(settings, tell))
