"""`tocsin demo` and `tocsin dev`: a whole installation in one terminal."""

import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from tocsin_cli.failures import CONFLICT, INVALID, CommandFailed

SECONDS = "DEMO_SECONDS"


def register(app: typer.Typer) -> None:
    app.command(short_help="Everything on a local Kafka, with sample jobs.")(demo)
    app.command(short_help="Everything on fixed ports, its data kept.")(dev)


def demo() -> None:
    """Start everything on a local Kafka with sample jobs, and show their runs; Ctrl-C stops all.

    With DEMO_SECONDS in the environment it ends by itself with a summary from the log, and with
    exit code 1 if an occurrence was missed or run twice. Nothing is kept.
    """
    from tocsin.settings import load_settings
    from tocsin_cli.stack.plan import demo_plan
    from tocsin_cli.stack.session import run_demo
    from tocsin_cli.surroundings import HOME, claimed

    settings, seconds = load_settings(os.environ), _seconds()
    with _own_folder(HOME) as folder, claimed(folder) as claim:
        raise typer.Exit(run_demo(demo_plan(folder, settings), claim, seconds))


def dev() -> None:
    """The same without sample jobs, on fixed ports, its data kept in .tocsin/dev."""
    from tocsin.settings import load_settings
    from tocsin_cli.stack.plan import dev_plan
    from tocsin_cli.stack.session import run_dev
    from tocsin_cli.surroundings import HOME, InUse, claimed

    settings = load_settings(os.environ)
    folder = HOME / "dev"
    try:
        with claimed(folder) as claim:
            plan = dev_plan(folder, settings)
            if (taken := plan.taken_port()) is not None:
                raise CommandFailed(
                    f"the port of 127.0.0.1 for the {taken} is in use: end what listens there, "
                    "or run tocsin demo, which takes free ports",
                    CONFLICT,
                )
            run_dev(plan, claim)
    except InUse:
        raise CommandFailed(
            f"tocsin dev runs already on {folder}: use it, or end it first", CONFLICT
        ) from None


def _seconds() -> float | None:
    text = os.environ.get(SECONDS, "")
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise CommandFailed(f"{SECONDS}={text}: write a number of seconds, such as 30", INVALID)
    return seconds


@contextmanager
def _own_folder(home: Path) -> Iterator[Path]:
    """A folder for one demo, removed at a good end; kept, with its logs, after a failure until
    the next demo."""
    from tocsin_cli.surroundings import is_abandoned

    home.mkdir(exist_ok=True)
    for left in home.glob("demo-*"):
        if is_abandoned(left):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix="demo-", dir=home))
    try:
        yield folder
    except (KeyboardInterrupt, typer.Exit):
        shutil.rmtree(folder, ignore_errors=True)
        raise
