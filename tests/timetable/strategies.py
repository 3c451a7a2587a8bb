"""Random expressions with their naive meaning, and instants near changes of a zone's clocks.

Strategies are built once and mapped: hypothesis spends its time on values, not on strategies.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from hypothesis import strategies as st

from tests.timetable.oracle import (
    DatePredicate,
    NaiveCron,
    changes,
    cron_weekday,
    days_in_month,
    last_workday,
    nearest_workday,
)
from tocsin.timetable import zone_names

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]

zones = st.sampled_from(sorted(zone_names()))
gaps = st.sampled_from(["next", "shift", "skip"])
folds = st.sampled_from(["first", "second", "both"])

Numbers = tuple[str, frozenset[int]]
Days = tuple[str, DatePredicate]


class Item(NamedTuple):
    """What an item of a list is drawn from."""

    kind: str
    first: int
    last: int
    step: int
    spelling: int
    other_spelling: int


def drawn_items(low: int, high: int, kinds: list[str]) -> st.SearchStrategy[Item]:
    value, spelling = st.integers(low, high), st.integers(0, 4)
    step = st.integers(1, high - low + 1)
    return st.builds(Item, st.sampled_from(kinds), value, value, step, spelling, spelling)


def spelled(value: int, low: int, names: list[str], spelling: int) -> str:
    forms = [str(value), f"{value:02}"]
    if names:
        name = names[value - low]
        forms += [name, name.lower(), name.title()]
    return forms[spelling % len(forms)]


def numbers(low: int, high: int, names: list[str], item: Item) -> Numbers:
    """One plain item, and its values by walking round the ring."""
    ring = list(range(low, high + 1))
    first = spelled(item.first, low, names, item.spelling)
    last = spelled(item.last, low, names, item.other_spelling)
    walk = [item.first]
    while walk[-1] != item.last:
        walk.append(low if walk[-1] == high else walk[-1] + 1)
    match item.kind:
        case "star/step":
            return f"*/{item.step}", frozenset(ring[:: item.step])
        case "from/step":
            return f"{first}/{item.step}", frozenset(ring[item.first - low :: item.step])
        case "range":
            return f"{first}-{last}", frozenset(walk)
        case "range/step":
            return f"{first}-{last}/{item.step}", frozenset(walk[:: item.step])
        case _:
            return first, frozenset({item.first})


PLAIN = ["value", "value", "star/step", "from/step", "range", "range/step"]


def fields(low: int, high: int, names: list[str]) -> st.SearchStrategy[Numbers]:
    item = drawn_items(low, high, PLAIN).map(partial(numbers, low, high, names))
    star = st.just(("*", frozenset(range(low, high + 1))))
    return st.one_of(star, st.lists(item, min_size=1, max_size=3).map(_joined_numbers))


def _joined_numbers(parts: list[Numbers]) -> Numbers:
    values: frozenset[int] = frozenset().union(*(values for _, values in parts))
    return ",".join(text for text, _ in parts), values


def day_of_month(item: Item) -> Days:
    number = item.first
    match item.kind:
        case "L":
            return "Ll"[item.spelling % 2], lambda day: day.day == days_in_month(day)
        case "L-n":
            back = min(number, 30)
            return f"L-{back}", lambda day: day.day == days_in_month(day) - back
        case "LW":
            return ["LW", "lw", "Lw"][item.spelling % 3], last_workday
        case "nW":
            return f"{number}W", lambda day: nearest_workday(day, number)
    text, values = numbers(1, 31, [], item)
    return text, lambda day: day.day in values


def day_of_week(item: Item) -> Days:
    weekday = item.first
    text = spelled(weekday, 0, WEEKDAYS, item.spelling)
    match item.kind:
        case "seven":
            return "7", lambda day: cron_weekday(day) == 0
        case "to seven":
            days = {day % 7 for day in range(weekday, 8)[:: item.step]}
            return f"{text}-7/{item.step}", lambda day: cron_weekday(day) in days
        case "nth":
            nth = (item.last + item.step) % 5 + 1
            return (
                f"{text}#{nth}",
                lambda day: cron_weekday(day) == weekday and (day.day - 1) // 7 + 1 == nth,
            )
        case "last":
            return (
                f"{text}L",
                lambda day: cron_weekday(day) == weekday and day.day + 7 > days_in_month(day),
            )
    text, values = numbers(0, 6, WEEKDAYS, item)
    return text, lambda day: cron_weekday(day) in values


def day_fields(
    low: int, high: int, special: list[str], read: Callable[[Item], Days]
) -> st.SearchStrategy[Days]:
    item = drawn_items(low, high, PLAIN + special).map(read)
    star: st.SearchStrategy[Days] = st.sampled_from("*?").map(lambda text: (text, lambda day: True))
    return st.one_of(star, st.lists(item, min_size=1, max_size=3).map(_joined_days))


def _joined_days(parts: list[Days]) -> Days:
    predicates = [predicate for _, predicate in parts]
    return ",".join(text for text, _ in parts), lambda day: any(p(day) for p in predicates)


def naive_cron(
    second: Numbers | None,
    minute: Numbers,
    hour: Numbers,
    day: Days,
    month: Numbers,
    weekday: Days,
    blank: str,
) -> NaiveCron:
    texts = [second[0]] if second else []
    texts += [minute[0], hour[0], day[0], month[0], weekday[0]]
    return NaiveCron(
        text=blank.join(texts),
        seconds=second[1] if second else frozenset({0}),
        minutes=minute[1],
        hours=hour[1],
        months=month[1],
        day=day[1],
        weekday=weekday[1],
        both=day[0][0] in "*?" or weekday[0][0] in "*?",
        elapsed=hour[0].startswith("*"),
    )


def _crons(
    second: st.SearchStrategy[Numbers] | st.SearchStrategy[None],
) -> st.SearchStrategy[NaiveCron]:
    return st.builds(
        naive_cron,
        second,
        fields(0, 59, []),
        fields(0, 23, []),
        day_fields(1, 31, ["L", "L-n", "LW", "nW"], day_of_month),
        fields(1, 12, MONTHS),
        day_fields(0, 6, ["seven", "to seven", "nth", "last"], day_of_week),
        st.sampled_from([" ", "\t", "  "]),
    )


crons = _crons(st.none())
crons_with_seconds = _crons(fields(0, 59, []))


class Moment(NamedTuple):
    """A zone, and an instant near a change of its offset, if the year drawn has one."""

    zone: str
    instant: datetime


def _moment(name: str, year: int, choice: int, minutes: int) -> Moment:
    near = changes(name, year) or [datetime(year, 6, 15, tzinfo=UTC)]
    instant = near[choice % len(near)].replace(second=0) + timedelta(minutes=minutes)
    return Moment(name, max(instant, datetime(1970, 1, 1, tzinfo=UTC)))


def moments(minutes_before: int, minutes_after: int) -> st.SearchStrategy[Moment]:
    years = st.one_of(st.integers(1970, 2040), st.integers(1970, 2600))
    minutes = st.integers(-minutes_before, minutes_after)
    return st.builds(_moment, zones, years, st.integers(0, 9), minutes)
