"""Instants and local times as text: RFC 3339 as far as schedules take it.

An instant is an `int` of epoch milliseconds. A local time is an `int` too: the milliseconds that
its reading would have if the clock on the wall were UTC.
"""

import re
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from functools import lru_cache

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EPOCH_ORDINAL = EPOCH.toordinal()
DAY = 86_400
DAY_MS = DAY * 1000

LAST = 253_402_300_799
"""9999-12-31T23:59:59Z in epoch seconds: no occurrence comes after it."""

LAST_MS = LAST * 1000

_DATE = r"(\d{4})-(\d{2})-(\d{2})"
_INSTANT = re.compile(
    _DATE + r"[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))", re.ASCII
)
_LOCAL = re.compile(_DATE + r"[Tt](\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?", re.ASCII)


def parse_instant(text: str) -> int:
    """Epoch milliseconds of an RFC 3339 time with an offset, in 1970-9999; ValueError otherwise.

    Finer fractions are cut, not rounded. Leap seconds and 24:00 are refused.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError("write it as 2026-05-01T12:00:00Z or 2026-05-01T12:00:00+02:00")
    year, month, day, hour, minute, second, fraction, sign, east_h, east_m = match.groups()
    reading = _reading_ms(year, month, day, hour, minute, second, fraction)
    return in_range(reading - _offset_ms(sign, east_h, east_m))


def has_offset(text: str) -> bool:
    """Whether the text ends like an instant, with `Z` or an offset, and not like a local time."""
    return text.endswith(("Z", "z")) or text[-6:-5] in ("+", "-")


def parse_local(text: str) -> int:
    """Milliseconds of a local time `YYYY-MM-DDTHH:MM[:SS[.fff]]`; ValueError if it is none."""
    match = _LOCAL.fullmatch(text)
    if match is None:
        raise ValueError("write it as 2026-05-01T12:00:00, without an offset")
    year, month, day, hour, minute, second, fraction = match.groups()
    return _reading_ms(year, month, day, hour, minute, second or "0", fraction)


def in_range(instant_ms: int) -> int:
    """The instant itself, if it lies in the years 1970-9999; ValueError otherwise."""
    if not 0 <= instant_ms < LAST_MS + 1000:
        raise ValueError("it must lie in the years 1970 to 9999, in UTC")
    return instant_ms


def to_ms(instant: datetime) -> int:
    """Epoch milliseconds of an aware datetime, cut; ValueError if it is naive."""
    if instant.tzinfo is None:
        raise ValueError(f"{instant.isoformat()} has no offset; give an aware datetime")
    return (instant - EPOCH) // timedelta(milliseconds=1)


def to_datetime(instant_ms: int) -> datetime:
    """The aware UTC datetime of an instant."""
    return EPOCH + timedelta(milliseconds=instant_ms)


def format_instant(instant_ms: int) -> str:
    """RFC 3339 in UTC, with milliseconds where there are any."""
    return format_reading(instant_ms) + "Z"


def format_reading(reading_ms: int) -> str:
    """A local time as text. The year after 9999, which zones east of UTC may read, is 10000."""
    seconds, milliseconds = divmod(reading_ms, 1000)
    days, time = divmod(seconds, DAY)
    past = days + EPOCH_ORDINAL > date.max.toordinal()
    day = date.fromordinal(days + EPOCH_ORDINAL - (146_097 if past else 0))
    year = day.year + (400 if past else 0)
    text = f"{year:04}-{day.month:02}-{day.day:02}"
    text += f"T{time // 3600:02}:{time // 60 % 60:02}:{time % 60:02}"
    return f"{text}.{milliseconds:03}" if milliseconds else text


def _reading_ms(
    year: str, month: str, day: str, hour: str, minute: str, second: str, fraction: str | None
) -> int:
    try:
        reading = _day_ms(year, month, day) + _time_ms(int(hour), int(minute), int(second))
    except ValueError as error:
        raise ValueError(f"there is no such time: {error}") from None
    return reading + int((fraction or "0").ljust(3, "0")[:3])


@lru_cache(maxsize=1_024)
def _day_ms(year: str, month: str, day: str) -> int:
    """Many instants are of few days."""
    return (date(int(year), int(month), int(day)).toordinal() - EPOCH_ORDINAL) * DAY_MS


def _time_ms(hour: int, minute: int, second: int) -> int:
    time_of_day(hour, minute, second)  # raises where there is no such time
    return ((hour * 60 + minute) * 60 + second) * 1000


def _offset_ms(sign: str | None, hours: str, minutes: str) -> int:
    if sign is None:
        return 0
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError(f"{sign}{hours}:{minutes} is no offset; it ends at 23:59")
    offset = (int(hours) * 60 + int(minutes)) * 60_000
    return offset if sign == "+" else -offset
