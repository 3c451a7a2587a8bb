"""Progress of long work, on standard error and on a terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def counting_down(doing: str, of: str = "records") -> Iterator[Callable[[int], None]]:
    """A bar for work of which it is known how much is left: call what the block gets with that,
    again and again. More may come in the meantime."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.fields[left]:,}} {of} left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    bar = Progress(*columns, console=console, disable=not console.is_terminal)
    task = bar.add_task(doing, total=None, left=0)
    most = 0

    def tell(left: int) -> None:
        nonlocal most
        most = max(most, left)
        bar.update(task, total=max(most, 1), completed=most - left, left=left)

    with bar:
        yield tell
