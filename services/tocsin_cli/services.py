"""What the commands that run a service have in common."""

import os
from collections.abc import Callable

import typer

from tocsin.logs import configure_logging
from tocsin.settings import Settings, load_settings


def serve(service: Callable[[Settings], int], **options: str) -> None:
    """Run `service` with the environment's settings to its end, which is the command's.

    options: settings that the command line gives, such as `TASKS`; an empty one does not count.

    Raises what loading the settings and the service raise.
    """
    configure_logging()
    given = {f"TOCSIN_{name}": value for name, value in options.items() if value}
    raise typer.Exit(service(load_settings({**os.environ, **given})))
