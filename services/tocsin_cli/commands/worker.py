"""`tocsin worker`."""

from typing import Annotated

import typer

TasksOption = Annotated[
    list[str] | None,
    typer.Option(
        "--tasks",
        metavar="MODULE",
        help="Import this module and execute its tasks; may be given several times.",
    ),
]


def register(app: typer.Typer) -> None:
    @app.command(short_help="Run a worker until SIGTERM.")
    def worker(tasks: TasksOption = None) -> None:
        """Run a worker until SIGTERM: executes the runs of its pool."""
        from tocsin_cli.services import serve
        from tocsin_worker.service import run_worker

        serve(run_worker, TASKS=",".join(tasks or ()))
