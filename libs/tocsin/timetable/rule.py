"""RFC 5545 recurrence rules: text to values."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tocsin.timetable.errors import InvalidSchedule
from tocsin.timetable.instants import parse_local

MAXIMUM_LENGTH = 1000
WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
FREQUENCIES: Final = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
UNIT_SECONDS: Final = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}
"""The unit of the frequencies that count elapsed time."""

_RANGES: Final = {
    "BYMONTH": (1, 12),
    "BYMONTHDAY": (1, 31),
    "BYYEARDAY": (1, 366),
    "BYWEEKNO": (1, 53),
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
    "BYSECOND": (0, 59),
    "BYSETPOS": (1, 366),
}
_SIGNED: Final = frozenset({"BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYSETPOS"})
PARTS: Final = ("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYDAY", *_RANGES)

_DAY_PART = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")
_UNTIL = re.compile(r"([0-9]{4})([0-9]{2})([0-9]{2})T([0-9]{2})([0-9]{2})([0-9]{2})(Z?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule as parsed. Lists are empty where the part is left out; weekdays are 0 = Monday."""

    freq: str
    interval: int = 1
    count: int | None = None
    until: int | None = None
    """Inclusive, in seconds: an instant if `until_utc`, else a reading."""
    until_utc: bool = False
    wkst: int = 0
    byday: tuple[tuple[int, int], ...] = ()
    """(weekday, n): the nth of the month or year, from its end if n < 0, every one if n is 0."""
    bymonth: tuple[int, ...] = ()
    bymonthday: tuple[int, ...] = ()
    byyearday: tuple[int, ...] = ()
    byweekno: tuple[int, ...] = ()
    byhour: tuple[int, ...] = ()
    byminute: tuple[int, ...] = ()
    bysecond: tuple[int, ...] = ()
    bysetpos: tuple[int, ...] = ()
    parts: frozenset[str] = field(default=frozenset())
    """The names of the parts that are given."""

    @property
    def elapsed(self) -> bool:
        """Whether it counts real hours, minutes or seconds, and no wall times."""
        return self.freq in UNIT_SECONDS


def parse_rule(text: str) -> Rule:
    """Raises InvalidSchedule with the keyword `rrule`."""
    if len(text) > MAXIMUM_LENGTH:
        raise _wrong(f"{len(text)} characters are too many: the most is {MAXIMUM_LENGTH}")
    if not text.isascii():
        raise _wrong("a rule is written in ASCII")
    parts = _split(text.upper().removeprefix("RRULE:"))
    until, until_utc = _until(parts)
    rule = Rule(
        freq=_word(parts, "FREQ", FREQUENCIES, None),
        interval=_positive(parts, "INTERVAL") or 1,
        count=_positive(parts, "COUNT"),
        until=until,
        until_utc=until_utc,
        wkst=WEEKDAYS.index(_word(parts, "WKST", WEEKDAYS, "MO")),
        byday=_days(parts),
        bymonth=_numbers(parts, "BYMONTH"),
        bymonthday=_numbers(parts, "BYMONTHDAY"),
        byyearday=_numbers(parts, "BYYEARDAY"),
        byweekno=_numbers(parts, "BYWEEKNO"),
        byhour=_numbers(parts, "BYHOUR"),
        byminute=_numbers(parts, "BYMINUTE"),
        bysecond=_numbers(parts, "BYSECOND"),
        bysetpos=_numbers(parts, "BYSETPOS"),
        parts=frozenset(parts),
    )
    for broken, reason in _FORBIDDEN:
        if broken(rule):
            raise _wrong(reason)
    return rule


def _split(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for part in text.split(";"):
        name, equals, value = part.partition("=")
        if not equals or not value:
            raise _wrong(f"{part[:40]!r} is no part; write parts as NAME=VALUE with ; between them")
        if name not in PARTS:
            raise _wrong(f"{name[:20]!r} is no part of a rule; known are {', '.join(PARTS)}")
        if name in parts:
            raise _wrong(f"{name} is given twice")
        parts[name] = value
    return parts


def _wrong(reason: str) -> InvalidSchedule:
    return InvalidSchedule("rrule", f"rrule: {reason}")


def _word(parts: dict[str, str], name: str, allowed: tuple[str, ...], default: str | None) -> str:
    value = parts.get(name, default)
    if value is None:
        raise _wrong(f"{name} is missing: one of {', '.join(allowed)}")
    if value not in allowed:
        raise _wrong(f"{name} must be one of {', '.join(allowed)}, not {value[:20]!r}")
    return value


def _positive(parts: dict[str, str], name: str) -> int | None:
    value = parts.get(name)
    if value is None:
        return None
    if not value.isdecimal() or int(value) < 1:
        raise _wrong(f"{name} must be a whole number from 1, not {value[:20]!r}")
    return int(value)


def _until(parts: dict[str, str]) -> tuple[int | None, bool]:
    value = parts.get("UNTIL")
    if value is None:
        return None, False
    match = _UNTIL.fullmatch(value)
    if match is None:
        raise _wrong(
            f"UNTIL must be a time such as 20260330T070000Z, not {value[:20]!r};"
            " a date alone leaves open whether its day still counts"
        )
    year, month, day, hour, minute, second, z = match.groups()
    try:
        return parse_local(f"{year}-{month}-{day}T{hour}:{minute}:{second}") // 1000, z == "Z"
    except ValueError as error:
        raise _wrong(f"UNTIL: {error}") from None


def _days(parts: dict[str, str]) -> tuple[tuple[int, int], ...]:
    days = []
    for item in _items(parts, "BYDAY"):
        match = _DAY_PART.fullmatch(item)
        nth = int(match[1]) if match and match[1] else 0
        if match is None or (match[1] and not 1 <= abs(nth) <= 53):
            raise _wrong(f"BYDAY takes weekdays such as MO, 2TU or -1FR, not {item[:20]!r}")
        days.append((WEEKDAYS.index(match[2]), nth))
    return tuple(days)


def _numbers(parts: dict[str, str], name: str) -> tuple[int, ...]:
    low, high = _RANGES[name]
    sign = "[+-]?" if name in _SIGNED else ""
    number = re.compile(f"{sign}[0-9]{{1,{len(str(high))}}}")
    items = _items(parts, name)
    for item in items:
        if not number.fullmatch(item) or not low <= abs(int(item)) <= high:
            allowed = f"{low} to {high}" + (f" or -{low} to -{high}" if sign else "")
            raise _wrong(f"{name} takes {allowed}, not {item[:20]!r}")
    return tuple(sorted({int(item) for item in items}))


def _items(parts: dict[str, str], name: str) -> list[str]:
    return parts[name].split(",") if name in parts else []


def _counted(rule: Rule) -> bool:
    return any(nth for _, nth in rule.byday)


def _other_by_parts(rule: Rule) -> frozenset[str]:
    return frozenset(name for name in rule.parts if name.startswith("BY")) - {"BYSETPOS"}


# RFC 5545 section 3.3.10, and what the elapsed frequencies cannot mean.
_FORBIDDEN: Final[tuple[tuple[Callable[[Rule], bool], str], ...]] = (
    (lambda r: "COUNT" in r.parts and "UNTIL" in r.parts, "COUNT and UNTIL exclude each other"),
    (
        lambda r: _counted(r) and (r.freq not in ("MONTHLY", "YEARLY") or bool(r.byweekno)),
        "a counted weekday such as 2MO needs FREQ=MONTHLY or YEARLY, without BYWEEKNO",
    ),
    (lambda r: bool(r.byweekno) and r.freq != "YEARLY", "BYWEEKNO needs FREQ=YEARLY"),
    (
        lambda r: bool(r.byyearday) and r.freq in ("DAILY", "WEEKLY", "MONTHLY"),
        "BYYEARDAY does not go with FREQ=DAILY, WEEKLY or MONTHLY",
    ),
    (
        lambda r: bool(r.bymonthday) and r.freq == "WEEKLY",
        "BYMONTHDAY does not go with FREQ=WEEKLY",
    ),
    (
        lambda r: bool(r.bysetpos) and not _other_by_parts(r),
        "BYSETPOS chooses from what another BY part lists; add one",
    ),
    (
        lambda r: r.elapsed and bool(r.bysetpos),
        "BYSETPOS does not go with FREQ=HOURLY, MINUTELY or SECONDLY",
    ),
    (
        lambda r: r.freq == "HOURLY" and bool(r.byminute or r.bysecond),
        "with FREQ=HOURLY there is no BYMINUTE or BYSECOND; write FREQ=MINUTELY with BYMINUTE",
    ),
    (
        lambda r: r.freq == "MINUTELY" and bool(r.bysecond),
        "with FREQ=MINUTELY there is no BYSECOND; write FREQ=SECONDLY with BYSECOND",
    ),
    (
        lambda r: r.elapsed and r.until is not None and not r.until_utc,
        "with FREQ=HOURLY, MINUTELY or SECONDLY, UNTIL must be in UTC, with Z",
    ),
)
