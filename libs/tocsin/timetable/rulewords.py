"""A recurrence rule in words."""

from tocsin.timetable.cronwords import MOST_TIMES
from tocsin.timetable.english import MONTHS, WEEKDAYS, clock, counted, every, listed, place
from tocsin.timetable.instants import format_reading
from tocsin.timetable.rule import Rule, parse_rule

_UNITS = {
    "YEARLY": "year",
    "MONTHLY": "month",
    "WEEKLY": "week",
    "DAILY": "day",
    "HOURLY": "hour",
    "MINUTELY": "minute",
    "SECONDLY": "second",
}


def rule_words(text: str, dtstart: str) -> str:
    """The rule in words, without its zone; it must be valid."""
    rule = parse_rule(text)
    words = every(rule.interval, _UNITS[rule.freq])
    words += "".join(f" {part}" for part in (*_dates(rule), *_times(rule)))
    if rule.bysetpos:
        words += f", of these the {_places(rule.bysetpos)}"
    words += f", from {dtstart.upper()} on"
    if rule.count is not None:
        words += f", {counted(rule.count, 'time')} in all"
    if rule.until is not None:
        words += f", until {format_reading(rule.until * 1000)}{'Z' if rule.until_utc else ''}"
    return words


def _dates(rule: Rule) -> list[str]:
    parts = []
    if rule.bymonth:
        parts.append(f"in {listed(MONTHS[n - 1] for n in rule.bymonth)}")
    if rule.byweekno:
        parts.append(f"in the {_places(rule.byweekno)} week of the year")
    if rule.byyearday:
        parts.append(f"on the {_places(rule.byyearday)} day of the year")
    if rule.bymonthday:
        parts.append(f"on the {_places(rule.bymonthday)} day of the month")
    if rule.byday:
        parts.append(f"on {listed(_weekday(*day) for day in rule.byday)}")
    return parts


def _places(numbers: tuple[int, ...]) -> str:
    """Those from the start first, then those from the end: `first, third and last`."""
    return listed(place(n) for n in sorted(numbers, key=lambda n: (n < 0, n)))


def _weekday(weekday: int, nth: int) -> str:
    name = WEEKDAYS[(weekday + 1) % 7]
    return f"the {place(nth)} {name}" if nth else name


def _times(rule: Rule) -> list[str]:
    """The times of day; for an elapsed rule, the hours, minutes and seconds that it keeps."""
    times = [
        hour * 3600 + minute * 60 + second
        for hour in rule.byhour
        for minute in rule.byminute
        for second in rule.bysecond or (0,)
    ]
    if times and len(times) <= MOST_TIMES and not rule.elapsed:
        return [f"at {listed(map(clock, times))}"]
    units = (("hour", rule.byhour), ("minute", rule.byminute), ("second", rule.bysecond))
    return [
        f"at {unit if len(values) == 1 else unit + 's'} {listed(map(str, values))}"
        for unit, values in units
        if values
    ]
