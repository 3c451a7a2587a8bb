"""Durations: a whole number of seconds, or ISO 8601 without the parts that have no exact length."""

import re

SECOND_MS = 1000
LONGEST_MS = 36_500 * 86_400 * 1000
"""The longest interval of a schedule: 36,500 days."""

_ISO = re.compile(
    r"P(?:(\d{1,15})W|(?:(\d{1,15})D)?(?:T(?=\d)(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15})S)?)?)",
    re.ASCII,
)
_UNIT_SECONDS = (604_800, 86_400, 3600, 60, 1)
_FORMS = "a whole number of seconds, or ISO 8601 in capitals such as PT90S, PT1H30M, P1D or P2W"


def parse_duration_ms(
    value: object, *, minimum_ms: int = SECOND_MS, maximum_ms: int = LONGEST_MS
) -> int:
    """Milliseconds of `90`, `90.0`, `"PT90S"`, `"P1DT2H"` or `"P2W"`; a day is 24 hours exactly.

    Raises ValueError with a sentence for a person: for fractions, signs, years and months, text
    such as "90" or "5m", truth values, and for what lies outside the two bounds (both allowed).
    """
    milliseconds = _seconds(value) * SECOND_MS
    if milliseconds < minimum_ms:
        raise ValueError(f"{value!r:.40} is too short: the least is {format_duration(minimum_ms)}")
    if milliseconds > maximum_ms:
        raise ValueError(f"{value!r:.40} is too long: the most is {format_duration(maximum_ms)}")
    return milliseconds


def format_duration(duration_ms: int) -> str:
    """ISO 8601 in days, hours, minutes and seconds: `PT1H30M`, `P7D`, `PT0S`, `PT0.250S`."""
    seconds, milliseconds = divmod(duration_ms, SECOND_MS)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    second_text = f"{seconds}.{milliseconds:03}" if milliseconds else str(seconds)
    date = f"{days}D" if days else ""
    time = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    time += f"{second_text}S" if second_text != "0" else ""
    return f"P{date}T{time}" if time else f"P{date}" if date else "PT0S"


def _seconds(value: object) -> int:
    if isinstance(value, str):
        return _iso_seconds(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r:.40} is no duration: write {_FORMS}")
    if isinstance(value, float) and not value.is_integer():
        raise ValueError(f"{value!r:.40} has a fraction of a second: write {_FORMS}")
    return int(value)


def _iso_seconds(text: str) -> int:
    match = _ISO.fullmatch(text)
    if match is None or text == "P":
        raise ValueError(f"{text[:40]!r} is no duration: {_hint(text)}")
    parts = zip(match.groups(), _UNIT_SECONDS, strict=True)
    return sum(int(number) * unit for number, unit in parts if number)


def _hint(text: str) -> str:
    if text.strip().isdecimal():
        return "seconds are a number, not text; leave out the quotes"
    if re.match(r"P[\d.]*(Y|\d+M)", text):
        return "years and months have no exact length; use rrule or cron for them"
    return f"write {_FORMS}"
