"""Looking at runs again and again: a live table on a terminal, else a line a change."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence

from tocsin.client import Run
from tocsin_cli.invocation import Output
from tocsin_cli.output import json_of
from tocsin_cli.run_rows import HEADINGS, run_cells
from tocsin_cli.run_views import run_table

PAUSE_S = 2.0

Look = Callable[[], Sequence[Run]]


class Changes:
    """Which runs are new or other than at the last look, the oldest first."""

    def __init__(self) -> None:
        self._seen: dict[str, Run] = {}

    def of(self, runs: Iterable[Run]) -> list[Run]:
        """`runs`: newest first. What is not listed any more is forgotten."""
        found = {run.run_id: run for run in runs}
        changed = [run for name, run in found.items() if self._seen.get(name) != run]
        self._seen = found
        return changed[::-1]


def watch(output: Output, look: Look, pause_s: float = PAUSE_S) -> None:
    """Until Ctrl-C. `look` gives the newest runs, newest first."""
    if output == "table" and sys.stdout.isatty():
        _watch_table(look, pause_s)
    changes = Changes()
    while True:
        for run in changes.of(look()):
            print(_line(output, run), flush=True)
        time.sleep(pause_s)


def _watch_table(look: Look, pause_s: float) -> None:
    from rich.live import Live

    with Live(run_table(look()), auto_refresh=False) as live:
        while True:
            time.sleep(pause_s)
            live.update(run_table(look()), refresh=True)


def _line(output: Output, run: Run) -> str:
    if output != "table":
        return json_of(run)
    cells = zip(HEADINGS, run_cells(run), strict=True)
    return "  ".join(cell for _, cell in cells if cell)
