"""Times as options of commands."""

from datetime import datetime

from tocsin import clock
from tocsin.durations import parse_typed_duration_ms
from tocsin.timetable.instants import parse_instant, to_datetime
from tocsin_cli.failures import INVALID, CommandFailed


def instant(option: str, text: str) -> datetime:
    """An RFC 3339 time. Raises CommandFailed."""
    try:
        return to_datetime(parse_instant(text))
    except ValueError as error:
        raise CommandFailed(f"{option} {text!r}: {error}", INVALID) from None


def past_instant(option: str, text: str) -> datetime:
    """An RFC 3339 time, or a duration before now. Raises CommandFailed."""
    try:
        return to_datetime(parse_instant(text))
    except ValueError as not_a_time:
        try:
            return to_datetime(clock.now_ms() - parse_typed_duration_ms(text))
        except ValueError:
            raise CommandFailed(
                f"{option} {text!r}: {not_a_time}, or how long ago, such as 2h", INVALID
            ) from None
