"""What runs look like while they happen: a live table on a terminal, plain lines elsewhere."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tocsin.client import Run
from tocsin_cli.run_rows import HEADINGS, run_cells

_HEAD_AND_GAP, _FEWEST = 3, 3
"""Lines of a live table beside runs and footer; runs that it shows in any case."""

_STYLES = {"succeeded": "green", "retrying": "yellow", "dead": "red", "missed": "red"}


class Board(Protocol):
    """Shows the newest runs again and again."""

    def show(self, runs: Sequence[Run], note: str | None = None) -> None:
        """`runs`, newest first. note: what is wrong at the moment."""


@contextmanager
def board(footer: str) -> Iterator[Board]:
    """The board that fits standard output; `footer` stands under the table."""
    if not sys.stdout.isatty():
        print(footer, flush=True)
        yield Lines()
        return
    console = Console(highlight=False, markup=False, emoji=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        yield LiveTable(live, footer)


class LiveTable:
    """As many runs as the terminal has room for."""

    def __init__(self, live: Live, footer: str) -> None:
        self._live = live
        self._footer = footer

    def show(self, runs: Sequence[Run], note: str | None = None) -> None:
        under = Text(self._footer if note is None else f"{note}\n\n{self._footer}")
        console = self._live.console
        taken = len(console.render_lines(under)) + _HEAD_AND_GAP
        room = max(_FEWEST, console.height - taken)
        self._live.update(Group(runs_table(runs[:room]), Text(), under), refresh=True)


class Lines:
    """A line for each change that tells something: a start that failed, an end."""

    def __init__(self) -> None:
        self._shown: dict[str, tuple[str, int | None]] = {}
        self._note: str | None = None

    def show(self, runs: Sequence[Run], note: str | None = None) -> None:
        if note is not None and note != self._note:
            print(note, flush=True)
        self._note = note
        known = {run.run_id: self._shown.get(run.run_id) for run in runs}
        for run in reversed(runs):
            if _tells(run) and known[run.run_id] != _state(run):
                print("  ".join(_padded(run_cells(run))), flush=True)
        self._shown = {run.run_id: _state(run) for run in runs}


def runs_table(runs: Iterable[Run]) -> Table:
    """One row a run, its result coloured."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in HEADINGS:
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for run in runs:
        *cells, result = run_cells(run)
        table.add_row(*map(Text, cells), Text(result, style=_STYLES.get(run.status, "")))
    return table


def _tells(run: Run) -> bool:
    return run.has_ended or run.status == "retrying"


def _state(run: Run) -> tuple[str, int | None]:
    return run.status, run.attempt


def _padded(cells: Sequence[str]) -> list[str]:
    widths = (16, 12, 12, 8, 5)
    return [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)] + list(
        cells[len(widths) :]
    )
