"""`tocsin broker start|stop`: the local single-node Kafka alone."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tocsin_cli.failures import NEGATIVE

DATA = Path(".tocsin/broker")
PORT = 9092

DataOption = Annotated[Path, typer.Option(metavar="FOLDER", help="Where it keeps its data.")]


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="The local single-node Kafka alone.", no_args_is_help=True)
    group.command("start")(_start)
    group.command("stop")(_stop)
    app.add_typer(group, name="broker")


def _start(
    data: DataOption = DATA,
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Where it listens.")] = PORT,
) -> None:
    """Start a Kafka in the background; nothing to do if it runs already."""
    from tocsin.broker.local import start_background

    address = start_background(data, port)
    print("Kafka runs; tell the other commands where, or eval what follows:", file=sys.stderr)
    print(f"export TOCSIN_BROKERS={address.bootstrap}")


def _stop(data: DataOption = DATA) -> None:
    """Stop the Kafka that `tocsin broker start` has started; its data stays."""
    from tocsin.broker.local import stop_background

    if not stop_background(data):
        print(f"no Kafka runs on {data}")
        raise typer.Exit(NEGATIVE)
    print(f"stopped; its data stays in {data}")
