"""`tocsin scheduler`."""

import os
from subprocess import Popen
from typing import Annotated

import typer

PORT_STEP = 10
"""From one process's port to the next: the ports between are other services'."""


def register(app: typer.Typer) -> None:
    @app.command(short_help="Run a scheduler until SIGTERM.")
    def scheduler(
        processes: Annotated[
            int,
            typer.Option(
                min=1,
                max=64,
                help="So many processes, each with partitions of its own, for as many cores.",
            ),
        ] = 1,
    ) -> None:
        """Run a scheduler until SIGTERM: decides which jobs are due, and writes their runs.

        With --processes N, process n serves HTTP ten times n ports above TOCSIN_LISTEN; one that
        dies is started again.
        """
        from tocsin_cli.services import serve
        from tocsin_scheduler.service import run_scheduler

        if processes == 1:
            serve(run_scheduler)
        _serve_several(processes)


def _serve_several(processes: int) -> None:
    from tocsin.logs import configure_logging
    from tocsin.settings import load_settings
    from tocsin_cli.supervision import start_command, supervise
    from tocsin_scheduler.service import LISTEN

    configure_logging()
    settings = load_settings(os.environ)
    settings.bootstrap()
    host, port = settings.listen or LISTEN

    def start(number: int) -> Popen[bytes]:
        own = port + PORT_STEP * number if port else 0
        address = f"[{host}]:{own}" if ":" in host else f"{host}:{own}"
        return start_command(["scheduler"], {**os.environ, "TOCSIN_LISTEN": address})

    raise typer.Exit(supervise(processes, start))
