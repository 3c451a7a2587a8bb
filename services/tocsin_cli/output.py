"""Answers as people and programs read them, on standard output."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, TextIO, TypeVar

import msgspec

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from tocsin_cli.invocation import Output

T = TypeVar("T")

_CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f]")
_PIPE_WIDTH = 1_000
"""Columns where no terminal sets a limit: a line of a table is never broken or cut there."""


def show(
    output: "Output",
    answer: object,
    for_people: Callable[[], "RenderableType"],
    *,
    to_stderr: bool = False,
) -> None:
    """Write `answer` (values, or what JSON knows) as JSON or YAML, or what `for_people` makes."""
    stream = sys.stderr if to_stderr else sys.stdout
    match output:
        case "json":
            print(json_of(answer, indent=2), file=stream)
        case "yaml":
            import yaml

            document = json.loads(json_of(answer))
            text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
            print(text, end="", file=stream)
        case "table":
            _print(for_people(), stream)


def json_of(answer: object, indent: int | None = None) -> str:
    """Values as JSON, their times as the API writes them: in UTC, to the millisecond."""
    builtins = msgspec.to_builtins(answer, builtin_types=(datetime,))
    return json.dumps(builtins, indent=indent, ensure_ascii=False, default=_instant)


def _instant(value: datetime) -> str:
    utc = value.astimezone(UTC).replace(tzinfo=None)
    return f"{utc.isoformat(timespec='milliseconds')}Z"


def _print(answer: "RenderableType", stream: TextIO) -> None:
    """As wide as the terminal, or as wide as it takes; `[/tmp]` and `:x:` are what stands there."""
    from rich.console import Console

    if isinstance(answer, str):
        answer = plain(answer)
    if stream.isatty():
        Console(highlight=False, markup=False, emoji=False, file=stream).print(answer)
        return
    pipe = Console(highlight=False, markup=False, emoji=False, width=_PIPE_WIDTH)
    with pipe.capture() as captured:
        pipe.print(answer)
    for line in captured.get().splitlines():
        print(line.rstrip(), file=stream)


def plain(text: str) -> str:
    """`text` without what a terminal would obey: such characters become their escapes."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def limited(found: Iterable[T], limit: int) -> list[T]:
    """The first `limit` of what was found; a line on stderr where there is more."""
    items = list(islice(found, limit + 1))
    if len(items) > limit:
        print(f"only the first {limit}: --limit shows more", file=sys.stderr)
    return items[:limit]


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> "Table":
    """A table of plain text; None is an empty cell."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column.upper(), overflow="fold")
    for row in rows:
        made.add_row(*(Text("" if cell is None else plain(str(cell))) for cell in row))
    return made


def pairs(shown: Mapping[str, object]) -> "Table":
    """Names and values below one another, without those that have none."""
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in shown.items():
        if value not in (None, ""):
            made.add_row(name, Text(plain(str(value))))
    return made
