"""timetable_warm, timetable_cold: next occurrences a second."""

import json
from collections.abc import Callable, Iterator
from itertools import count, islice, product
from pathlib import Path

from tests.bench.measurement import Measurement, median_of
from tests.bench.stage import Stage
from tocsin import clock
from tocsin.timetable import parse_schedule, schedule_of

CASES = Path(__file__).parents[1] / "data" / "schedule.jsonl"
REPEATS = 3
EXPRESSIONS = 1_000
BASE_MS = 1_782_900_000_000
ZONES = (
    "UTC",
    "Africa/Cairo",
    "Africa/Casablanca",
    "America/Chicago",
    "America/New_York",
    "America/Sao_Paulo",
    "America/St_Johns",
    "Asia/Gaza",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tehran",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Europe/Berlin",
    "Europe/Dublin",
    "Europe/London",
    "Europe/Moscow",
    "Pacific/Apia",
    "Pacific/Auckland",
)


def timetable_warm(stage: Stage) -> Iterator[Measurement]:
    """The way of the firing loop: the schedule of stored fields, its next instant."""
    fields = parse_schedule({"cron": "*/5 9-17 * * MON-FRI", "timezone": "Europe/Berlin"}).fields
    calls = stage.size.count(1_000_000)

    def ask() -> int:
        for _ in range(calls):
            schedule_of(fields).next_ms(BASE_MS)
        return calls

    ask()
    yield median_of("timetable_warm", "calls/s", [_rate(ask) for _ in range(REPEATS)], calls=calls)


def timetable_cold(stage: Stage) -> Iterator[Measurement]:
    """Each expression in each zone: parsed, and asked for the first occurrence after one base."""
    from_cases = cron_cases()
    expressions = list(islice(_varied(from_cases), stage.size.count(EXPRESSIONS)))
    zones = ZONES[: stage.size.count(len(ZONES))]

    def ask() -> int:
        for expression, zone in product(expressions, zones):
            parse_schedule({"cron": expression, "timezone": zone}).next_ms(BASE_MS)
        return len(expressions) * len(zones)

    samples = [_rate(ask) for _ in range(REPEATS)]
    detail = {"expressions": len(expressions), "zones": len(zones), "from_cases": len(from_cases)}
    yield median_of("timetable_cold", "calls/s", samples, **detail)


def cron_cases() -> list[str]:
    """The valid expressions among the cases of the schedule semantics, each once, in order."""
    cases = (json.loads(line) for line in CASES.read_text("utf-8").splitlines())
    valid = (case["schedule"] for case in cases if "expect" in case)
    return list(dict.fromkeys(schedule["cron"] for schedule in valid if "cron" in schedule))


def _varied(expressions: list[str]) -> Iterator[str]:
    """The expressions, then again and again the same with other minutes: there are fewer cases
    than expressions wanted."""
    yield from expressions
    seen = set(expressions)
    for minute in count():
        for expression in expressions:
            _, _, rest = expression.partition(" ")
            varied = f"{minute % 60},{minute // 60 % 60} {rest}"
            if rest and varied not in seen:
                seen.add(varied)
                yield varied


def _rate(ask: Callable[[], int]) -> float:
    """`ask` answers with the number of its calls."""
    began = clock.monotonic_ms()
    calls = ask()
    return calls * 1000 / max(1, clock.monotonic_ms() - began)
