"""`tocsin next`: when a schedule runs next, without any server."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.invocation import invocation_of

if TYPE_CHECKING:
    from rich.table import Table

    from tocsin.timetable import Preview, Schedule

MOST = 1_000


def register(app: typer.Typer) -> None:
    app.command("next", short_help="Show the next occurrences of a schedule.")(_next)


def _next(
    context: typer.Context,
    cron: Annotated[
        str | None, typer.Argument(metavar="CRON", help="Such as '0 7 * * MON-FRI'.")
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option(metavar="JSON|@FILE", help="A whole schedule instead of a cron expression."),
    ] = None,
    tz: Annotated[
        str | None, typer.Option("--tz", metavar="ZONE", help="Such as Europe/Berlin.")
    ] = None,
    count: Annotated[int, typer.Option("-n", min=1, max=MOST, help="How many.")] = 5,
    after: Annotated[
        str | None, typer.Option(metavar="TIME", help="RFC 3339 with offset.", show_default="now")
    ] = None,
) -> None:
    """Show the next occurrences of a schedule, and where a daylight-saving rule acted."""
    from tocsin.timetable import describe, preview
    from tocsin_cli.output import show

    base = _base(after)
    parsed = _parse(_document(cron, schedule, tz), base)
    found = preview(parsed, base, count)
    answer = {
        "description": describe(parsed),
        "occurrences": [each.utc for each in found],
        "details": [each._asdict() for each in found],
    }
    show(invocation_of(context).output, answer, lambda: _shown(parsed, found))


def _shown(schedule: "Schedule", found: "list[Preview]") -> "Table | str":
    from tocsin.timetable import describe
    from tocsin_cli.output import table

    title = describe(schedule)
    if not found:
        return f"{title}\nno occurrence is left"
    rows = [(each.utc, each.local, each.offset, each.dst_rule) for each in found]
    made = table(("utc", "local", "offset", "rule"), rows)
    made.title, made.title_justify, made.title_style = title, "left", ""
    return made


def _document(cron: str | None, schedule: str | None, tz: str | None) -> Mapping[str, object]:
    if (cron is None) == (schedule is None):
        raise CommandFailed("give either a cron expression or --schedule JSON|@FILE", INVALID)
    given = {"cron": cron} if schedule is None else _read(schedule)
    return given if tz is None else {**given, "timezone": tz}


def _read(text: str) -> Mapping[str, object]:
    from tocsin.model.strict_json import InvalidJson, loads
    from tocsin_cli.job_files import text_or_file

    try:
        value = loads(text_or_file(text).encode(errors="surrogateescape"))
    except InvalidJson as error:
        raise CommandFailed(f"--schedule is not JSON: {error}", INVALID) from None
    if not isinstance(value, dict):
        raise CommandFailed('--schedule is not a JSON object, such as {"every": 60}', INVALID)
    return value


def _parse(document: Mapping[str, object], created: datetime) -> "Schedule":
    from tocsin.timetable import InvalidSchedule, parse_schedule

    try:
        return parse_schedule(document, created=created)
    except InvalidSchedule as error:
        # The sentence names the field of an expression itself, by its column.
        field = "" if error.column else f"{error.keyword}: "
        raise CommandFailed(f"{field}{error}", INVALID) from None


def _base(after: str | None) -> datetime:
    from tocsin.clock import now_ms
    from tocsin_cli.instants import instant

    if after is not None:
        return instant("--after", after)
    return datetime.fromtimestamp(now_ms() / 1_000, UTC)
