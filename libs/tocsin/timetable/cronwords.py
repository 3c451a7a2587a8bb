"""A cron expression in words."""

import re

from tocsin.timetable.cron import split_fields
from tocsin.timetable.dates import SPECIAL
from tocsin.timetable.english import MONTHS, WEEKDAYS, clock, listed, numeral, ordinal
from tocsin.timetable.fields import DAY_OF_MONTH, DAY_OF_WEEK, HOUR, MINUTE, MONTH, SECOND, Field
from tocsin.timetable.times import bits_of

MOST_TIMES = 4
"""More times of day than these are told as minutes of hours."""


def cron_words(text: str) -> str:
    """The expression in words, without its zone; it must be valid."""
    second, minute, hour, day, month, weekday = ["0", *split_fields(text)][-6:]
    times = _clock_times(second, minute, hour)
    words = f"at {times}" if times else _rhythm(second, minute, hour)
    words += _dates(day, weekday) or (" every day" if times else "")
    return words if month == "*" else f"{words}, in {_months(month)}"


def _rhythm(second: str, minute: str, hour: str) -> str:
    parts = [] if second == "0" else [_part(SECOND, second, first=True)]
    for field, text in ((MINUTE, minute), (HOUR, hour)):
        if text != "*" or not (parts and parts[-1].startswith("every")):
            parts.append(_part(field, text, first=not parts))
    words = " of ".join(parts)
    return words if words.startswith("every") else f"at {words}"


def _clock_times(second: str, minute: str, hour: str) -> str:
    """The times of day, if they are few and no field is told as a rhythm."""
    if "*" in second + minute + hour:
        return ""
    times = [
        at_hour * 3600 + at_minute * 60 + at_second
        for at_hour in bits_of(HOUR.parse(hour))
        for at_minute in bits_of(MINUTE.parse(minute))
        for at_second in bits_of(SECOND.parse(second))
    ]
    return listed(map(clock, times)) if len(times) <= MOST_TIMES else ""


def _part(field: Field, text: str, *, first: bool) -> str:
    """`every minute`, `every 5 minutes` (`every 5th minute` if not first), `minute 30`,
    `minutes 0, 15 and 30`, `hours 9 to 17`."""
    unit = field.keyword
    if text == "*":
        return f"every {unit}"
    step = int(text[2:]) if re.fullmatch(r"\*/\d+", text) else field.size
    if step < field.size and field.size % step == 0:
        return f"every {step} {unit}s" if first else f"every {numeral(step)} {unit}"
    return _numbers(unit, list(bits_of(field.parse(text))))


def _numbers(unit: str, values: list[int]) -> str:
    words = listed(str(a) if a == b else f"{a} to {b}" for a, b in _runs(values))
    return f"{unit} {words}" if len(values) == 1 else f"{unit}s {words}"


def _runs(values: list[int]) -> list[tuple[int, int]]:
    """Values in order as ranges; two neighbours stay two values."""
    runs: list[tuple[int, int]] = []
    for value in values:
        if runs and runs[-1][1] == value - 1:
            runs[-1] = (runs[-1][0], value)
        else:
            runs.append((value, value))
    pairs = ([(a, b)] if b - a != 1 else [(a, a), (b, b)] for a, b in runs)
    return [run for pair in pairs for run in pair]


def _dates(day: str, weekday: str) -> str:
    days = "" if day in ("*", "?") else _days(day.upper().split(","))
    weekdays = "" if weekday in ("*", "?") else _weekdays(weekday.upper().split(","))
    if days and weekdays:
        both = day[0] in "*?" or weekday[0] in "*?"
        return f", on {days}, {'if it is also' if both else 'and also on'} {weekdays}"
    return f", on {days or weekdays}" if days or weekdays else ""


def _days(items: list[str]) -> str:
    plain = [item for item in items if not SPECIAL.search(item)]
    words = [_special_day(item) for item in items if item not in plain]
    if plain:
        values = list(bits_of(DAY_OF_MONTH.parse(",".join(plain))))
        words.insert(0, f"{_numbers('day', values)} of the month")
    return listed(words)


def _special_day(item: str) -> str:
    if item == "L":
        return "the last day of the month"
    if item == "LW":
        return "the last Monday-to-Friday day of the month"
    if item.startswith("L-"):
        return f"the {ordinal(int(item[2:]) + 1)} to last day of the month"
    return f"the Monday-to-Friday day nearest to the {numeral(int(item[:-1]))} of the month"


def _weekdays(items: list[str]) -> str:
    plain = [item for item in items if not SPECIAL.search(item)]
    words = [_special_weekday(item) for item in items if item not in plain]
    return listed((_plain_weekdays(plain) if plain else []) + words)


def _plain_weekdays(items: list[str]) -> list[str]:
    days = [WEEKDAYS[n] for n in bits_of(DAY_OF_WEEK.parse(",".join(items)))]
    first, _, last = items[0].partition("-")
    if len(items) > 1 or "/" in items[0] or len(days) < 3 or not last:
        return days
    return [f"{_weekday(first)} to {_weekday(last)}"]


def _special_weekday(item: str) -> str:
    weekday, _, nth = item.partition("#")
    if nth:
        return f"the {ordinal(int(nth))} {_weekday(weekday)} of the month"
    return f"the last {_weekday(item[:-1])} of the month"


def _weekday(text: str) -> str:
    return WEEKDAYS[DAY_OF_WEEK.value(text) or 0]


def _months(text: str) -> str:
    runs = _runs(list(bits_of(MONTH.parse(text))))
    return listed(
        MONTHS[a - 1] if a == b else f"{MONTHS[a - 1]} to {MONTHS[b - 1]}" for a, b in runs
    )
