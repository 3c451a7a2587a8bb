"""One command for all that fits a filter: counted, agreed to, done slice by slice."""

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import typer

from tocsin_cli.failures import INVALID, NEGATIVE, CommandFailed, explain
from tocsin_cli.progress import counting_down

if TYPE_CHECKING:
    from tocsin.client.models import Bulk
    from tocsin_cli.invocation import Output

SLICE = 5_000


class Ask(Protocol):
    """A bulk call of the client with its action."""

    def __call__(
        self,
        matching: Mapping[str, object],
        *,
        expect: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> "Bulk": ...


def do_to_all(
    ask: Ask, matching: Mapping[str, object], doing: str, what: str, *, yes: bool
) -> "Bulk":
    """What became of all of them. `doing` and `what` for the question: redrive, dead runs.

    Raises `CommandFailed` where nobody agrees, and where it ends before the end: it says how many
    are done.
    """
    counted = ask(matching)
    if not counted.matched:
        return ask(matching, expect=0)
    if not yes and not _agrees(f"{doing} {counted.matched:,} {what}?"):
        told = f"{counted.matched:,} {what} match; --yes goes on to {doing} them"
        raise CommandFailed(told, INVALID)
    with counting_down(doing, what) as tell:
        return _slices(ask, matching, counted.matched, tell)


def show_done(output: "Output", done: "Bulk", sentence: str) -> None:
    """The sentence, and with what it was not done and why; that is exit code 1."""
    from tocsin_cli.output import show

    refused = ["  ".join(each.values()) for each in done.refused]
    show(output, done, lambda: "\n".join([sentence, *refused]))
    if done.done != done.matched:
        raise typer.Exit(NEGATIVE)


def _slices(
    ask: Ask, matching: Mapping[str, object], matched: int, tell: Callable[[int], None]
) -> "Bulk":
    import msgspec

    from tocsin.client import ApiError, TocsinError

    done, left = 0, matched
    refused: tuple[dict[str, str], ...] = ()
    cursor: str | None = None
    while True:
        tell(left)
        try:
            part = ask(matching, expect=left, limit=SLICE, cursor=cursor)
        except TocsinError as error:
            failure = explain(error)
            done += error.done or 0 if isinstance(error, ApiError) else 0
            if failure is None or not done:
                raise
            told = f"{done:,} of {matched:,} are done, in their order; then: {failure.sentence}"
            raise CommandFailed(told, failure.exit_code) from error
        done += part.done or 0
        refused += part.refused
        left, cursor = part.left, part.next_cursor
        if cursor is None:
            return msgspec.structs.replace(part, matched=matched, done=done, refused=refused)


def _agrees(question: str) -> bool:
    """Asks on a terminal only."""
    return sys.stdin.isatty() and typer.confirm(question, err=True)
