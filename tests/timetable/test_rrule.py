"""Recurrence rules: wall times against python-dateutil, elapsed ones against stepping."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Any

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.timetable.oracle import resolve, zone
from tests.timetable.strategies import Moment, folds, gaps, moments
from tocsin.timetable import InvalidSchedule, Schedule, parse_schedule

WEEKDAYS = ["MO", "TU", "WE", "TH", "FR", "SA", "SU"]


def joined(values: st.SearchStrategy[Any], most: int = 3) -> st.SearchStrategy[str]:
    return st.lists(values, min_size=1, max_size=most).map(lambda v: ",".join(map(str, v)))


def signed(low: int, high: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(low, high), st.integers(-high, -low))


weekdays = joined(st.sampled_from(WEEKDAYS))
PARTS: dict[str, st.SearchStrategy[str]] = {
    "BYMONTH": joined(st.integers(1, 12)),
    "BYMONTHDAY": joined(signed(1, 31)),
    "BYYEARDAY": joined(signed(1, 366)),
    "BYWEEKNO": joined(signed(1, 53)),
    "BYDAY": weekdays,
    "counted": joined(
        st.tuples(signed(1, 5), st.sampled_from(WEEKDAYS)).map(lambda t: f"{t[0]}{t[1]}")
    ),
    "BYHOUR": joined(st.integers(0, 23)),
    "BYMINUTE": joined(st.integers(0, 59), 2),
    "BYSECOND": joined(st.integers(0, 59), 2),
    "BYSETPOS": joined(signed(1, 12)),
}
ALLOWED = {
    "YEARLY": ["BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO", "BYDAY", "counted"],
    "MONTHLY": ["BYMONTH", "BYMONTHDAY", "BYDAY", "counted"],
    "WEEKLY": ["BYMONTH", "BYDAY"],
    "DAILY": ["BYMONTH", "BYMONTHDAY", "BYDAY"],
}
TIMES = ["BYHOUR", "BYMINUTE", "BYSECOND"]


@st.composite
def wall_rules(draw: st.DrawFn) -> str:
    freq = draw(st.sampled_from(list(ALLOWED)))
    names = set(draw(st.lists(st.sampled_from(ALLOWED[freq] + TIMES), max_size=4)))
    if "counted" in names:
        names -= {"BYDAY", "BYWEEKNO"}
    if names and draw(st.integers(0, 3)) == 0:
        names.add("BYSETPOS")
    parts = [f"FREQ={freq}", f"WKST={draw(st.sampled_from(WEEKDAYS))}"]
    parts += [f"INTERVAL={draw(st.integers(1, 9))}"] if draw(st.booleans()) else []
    for name in sorted(names):
        parts.append(f"{'BYDAY' if name == 'counted' else name}={draw(PARTS[name])}")
    return ";".join(parts)


readings = st.integers(0, 4_100_000_000).map(
    lambda seconds: datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
)


def schedule(rule: str, dtstart: datetime, **options: str) -> Schedule:
    mapping = {"rrule": rule, "dtstart": dtstart.isoformat(), **options}
    try:
        return parse_schedule(mapping)
    except InvalidSchedule as error:
        if error.keyword == "never":
            reject()
        raise


def naive(rule: str, dtstart: datetime, start: datetime, n: int) -> list[datetime]:
    """The first n wall times of a rule after a wall time, by python-dateutil."""
    return list(rrulestr(rule, dtstart=dtstart).xafter(start, count=n))


@settings(max_examples=150, deadline=None)
@given(wall_rules(), readings)
def test_wall_times_are_those_of_dateutil(rule: str, dtstart: datetime) -> None:
    found = schedule(rule, dtstart)
    expected = naive(rule, dtstart, dtstart - timedelta(seconds=1), 12)
    start = dtstart.replace(tzinfo=UTC) - timedelta(seconds=1)
    assert [at.replace(tzinfo=None) for at in islice(found.after(start), 12)] == expected


@settings(max_examples=100, deadline=None)
@given(wall_rules(), readings, st.integers(0, 4000), st.integers(1, 40))
def test_count_counts_from_dtstart_wherever_one_asks(
    rule: str, dtstart: datetime, days: int, count: int
) -> None:
    found = schedule(f"{rule};COUNT={count}", dtstart)
    expected = list(rrulestr(f"{rule};COUNT={count}", dtstart=dtstart))
    start = dtstart + timedelta(days=days)
    later = [at for at in expected if at > start]
    assert [at.replace(tzinfo=None) for at in found.after(start.replace(tzinfo=UTC))] == later
    everything = found.after(dtstart.replace(tzinfo=UTC) - timedelta(seconds=1))
    assert [at.replace(tzinfo=None) for at in everything] == expected


@settings(max_examples=150, deadline=None)
@given(wall_rules(), moments(20_000, 0), gaps, folds)
def test_wall_times_are_resolved_one_by_one(rule: str, moment: Moment, gap: str, fold: str) -> None:
    dtstart = moment.instant.replace(tzinfo=None)
    found = schedule(rule, dtstart, timezone=moment.zone, gap=gap, fold=fold)
    start, end = moment.instant, moment.instant + timedelta(days=30)
    listed = takewhile(
        lambda reading: reading < end.replace(tzinfo=None) + timedelta(days=2),
        iter(rrulestr(rule, dtstart=dtstart).xafter(dtstart - timedelta(seconds=1))),
    )
    resolved = (resolve(reading, zone(moment.zone), gap, fold) for reading in islice(listed, 500))
    expected = sorted({at for several in resolved for at in several if start < at <= end})
    answer = takewhile(lambda at: at <= end, islice(found.after(start), len(expected) + 1))
    assert list(answer)[: len(expected)] == expected
    assert (
        len(expected) >= 400
        or list(takewhile(lambda at: at <= end, found.after(start))) == expected
    )


LIMITS = ["BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYDAY", "BYHOUR", "BYMINUTE", "BYSECOND"]
ELAPSED = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}


@st.composite
def elapsed_rules(draw: st.DrawFn) -> dict[str, str]:
    freq = draw(st.sampled_from(list(ELAPSED)))
    allowed = LIMITS[: {"HOURLY": 5, "MINUTELY": 6, "SECONDLY": 7}[freq]]
    names = set(draw(st.lists(st.sampled_from(allowed), max_size=3)))
    most = {"HOURLY": 400, "MINUTELY": 10_000, "SECONDLY": 200_000}[freq]
    interval = draw(st.one_of(st.integers(1, 90), st.integers(1, most)))
    rule = {"FREQ": freq, "INTERVAL": str(interval)}
    return rule | {name: draw(PARTS[name]) for name in sorted(names)}


def kept(rule: dict[str, str], reading: datetime) -> bool:
    """Whether the BY parts keep a reading."""
    day = reading.timetuple()
    year = 366 if reading.year % 4 == 0 and (reading.year % 100 or reading.year % 400 == 0) else 365
    month = (reading.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    facts: dict[str, set[object]] = {
        "BYMONTH": {day.tm_mon},
        "BYMONTHDAY": {day.tm_mday, day.tm_mday - month.day - 1},
        "BYYEARDAY": {day.tm_yday, day.tm_yday - year - 1},
        "BYDAY": {WEEKDAYS[day.tm_wday]},
        "BYHOUR": {day.tm_hour},
        "BYMINUTE": {day.tm_min},
        "BYSECOND": {day.tm_sec},
    }
    return all(
        any(str(fact) in rule[name].split(",") for fact in values)
        for name, values in facts.items()
        if name in rule
    )


def stepped(rule: dict[str, str], anchor: datetime, name: str, steps: int) -> Iterator[datetime]:
    """The kept among the first candidates."""
    unit = timedelta(seconds=ELAPSED[rule["FREQ"]] * int(rule["INTERVAL"]))
    for step in range(steps):
        instant = anchor + unit * step
        if kept(rule, instant.astimezone(zone(name)).replace(tzinfo=None)):
            yield instant


STEPS = 600


@settings(max_examples=100, deadline=None)
@given(elapsed_rules(), moments(3000, 0), st.integers(0, 599), st.integers(1, 60))
def test_elapsed_rules_keep_the_candidates_whose_reading_matches(
    rule: dict[str, str], moment: Moment, step: int, count: int
) -> None:
    reading = moment.instant.astimezone(zone(moment.zone)).replace(tzinfo=None)
    anchor = resolve(reading, zone(moment.zone), "shift", "first")[0]
    unit = timedelta(seconds=ELAPSED[rule["FREQ"]] * int(rule["INTERVAL"]))
    last, start = anchor + unit * (STEPS - 1), anchor + unit * step
    expected = list(stepped(rule, anchor, moment.zone, STEPS))
    text = ";".join(f"{name}={value}" for name, value in rule.items())
    found = schedule(text, reading, timezone=moment.zone)
    answer = takewhile(lambda at: at <= last, found.after(start - timedelta(seconds=1)))
    assert list(islice(answer, 50)) == [at for at in expected if at >= start][:50]
    counted = schedule(f"{text};COUNT={count}", reading, timezone=moment.zone)
    answer = takewhile(lambda at: at <= last, counted.after(start))
    assert list(answer) == [at for at in expected[:count] if at > start]


@pytest.mark.parametrize(
    ("rule", "keyword"),
    [
        ("FREQ=DAILY;BYDAY=2MO", "rrule"),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=2MO", "rrule"),
        ("FREQ=MONTHLY;BYWEEKNO=20", "rrule"),
        ("FREQ=MONTHLY;BYYEARDAY=20", "rrule"),
        ("FREQ=DAILY;BYSECOND=60", "rrule"),
        ("FREQ=DAILY;BYHOUR=24", "rrule"),
        ("FREQ=DAILY;BYDAY=0MO", "rrule"),
        ("FREQ=DAILY;COUNT=-1", "rrule"),
        ("FREQ=DAILY;COUNT=1.5", "rrule"),
        ("FREQ=DAILY;UNTIL=20260230T000000Z", "rrule"),
        ("FREQ=DAILY;UNTIL=20260102T000060Z", "rrule"),
        ("FREQ=HOURLY;UNTIL=20260230T000000", "rrule"),
        ("FREQ=MINUTELY;BYSECOND=1", "rrule"),
        ("FREQ=SECONDLY;BYHOUR=1;BYSETPOS=1", "rrule"),
        ("FREQ=DAILY;X-NAME=1", "rrule"),
        ("FREQ=DAILY;BYMONTH=", "rrule"),
        ("FREQ=DAILY;BYMONTH=1,,2", "rrule"),
        ("FREQ=DAILY; INTERVAL=2", "rrule"),
        ("RRULE:RRULE:FREQ=DAILY", "rrule"),
        ("FREQ=DAILY\nFREQ=DAILY", "rrule"),
        ("FREQ=DAİLY", "rrule"),
        ("FREQ=DAILY;INTERVAL=1" + "0" * 1000, "rrule"),
        ("FREQ=DAILY;UNTIL=20251231T000000Z", "never"),
        ("FREQ=DAILY;UNTIL=20251231T000000", "never"),
        ("FREQ=HOURLY;UNTIL=20251231T000000Z", "never"),
        ("FREQ=DAILY;UNTIL=19600101T000000Z", "never"),
        ("FREQ=HOURLY;INTERVAL=24;BYHOUR=9", "never"),
        ("FREQ=SECONDLY;INTERVAL=60;BYSECOND=30", "never"),
        ("FREQ=MONTHLY;BYMONTH=4;BYMONTHDAY=31", "never"),
        ("FREQ=MONTHLY;BYDAY=53MO", "never"),
        ("FREQ=YEARLY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO,TU;BYYEARDAY=61", "never"),
    ],
)
def test_a_rule_that_means_nothing_is_refused(rule: str, keyword: str) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule({"rrule": rule, "dtstart": "2026-01-01T00:00:00"})
    assert (caught.value.keyword, caught.value.column) == (keyword, None)
