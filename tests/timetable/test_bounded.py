"""Answers come in bounded time, however far away or however impossible they are."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.timetable import InvalidSchedule, parse_schedule
from tocsin.timetable.leaps import WEEK, Leaps, first_hit
from tocsin.timetable.times import Times

NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
NEW_YORK = {"timezone": "America/New_York"}
START = {"dtstart": "1970-01-01T00:00:00"}
ALL = "BYHOUR={};BYMINUTE={};BYSECOND={}".format(
    *(",".join(map(str, range(size))) for size in (24, 60, 60))
)


LAST_DAYS = (151, 152, 212, 213, 243, 244, 304, 305)
EVEN, ODD, HOURS = (",".join(map(str, range(*r))) for r in ((0, 60, 2), (1, 60, 2), (0, 24)))
NO_31ST = ",".join(str(n) for n in range(122, 365) if n not in LAST_DAYS)
BEYOND_A_DAY = ",".join(map(str, range(25, 200)))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fails if the block takes more processor time of this thread. Bounds are generous: the point
    is that nothing walks through centuries second by second."""
    start = time.thread_time()
    yield
    assert time.thread_time() - start < seconds


@pytest.mark.parametrize(
    "mapping",
    [
        {"cron": "0 0 30 2 *"},
        {"cron": "0 0 31 4,6,9,11 *"},
        {"cron": "0 0 31W 2 ?"},
        {"cron": "0 0 */31 2 1#2"},
        {"cron": "0," * 10_000 + "0 * * * *"},
        {"cron": "1-" * 499 + "1 * * * *"},
        {"rrule": "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", **START},
        {"rrule": "FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30", **START},
        {"rrule": "FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=5", **START},
        {"rrule": "FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=12", **START},
        {"rrule": "FREQ=MINUTELY;INTERVAL=3;BYMONTH=2;BYMONTHDAY=30", **START},
        {"rrule": "FREQ=SECONDLY;INTERVAL=60;BYSECOND=30", **START, **NEW_YORK},
        {"rrule": "FREQ=SECONDLY;INTERVAL=604801;BYDAY=MO;BYHOUR=1;BYSECOND=1;BYMINUTE=1", **START},
        {"rrule": "FREQ=HOURLY;INTERVAL=168;BYDAY=MO", **START, **NEW_YORK},
        {"rrule": f"FREQ=SECONDLY;INTERVAL=2;BYSECOND={ODD}", **START, **NEW_YORK},
        {"rrule": f"FREQ=SECONDLY;INTERVAL=604802;BYDAY=MO;BYSECOND={EVEN}", **START, **NEW_YORK},
        {"rrule": f"FREQ=SECONDLY;INTERVAL=604801;BYDAY=MO;BYMINUTE={EVEN}", **START, **NEW_YORK},
        {"rrule": f"FREQ=SECONDLY;INTERVAL=86401;BYHOUR=23;BYSECOND={ODD}", **START, **NEW_YORK},
        {"rrule": f"FREQ=HOURLY;BYMONTHDAY=31;BYYEARDAY={NO_31ST}", **START, **NEW_YORK},
        {"rrule": f"FREQ=WEEKLY;BYDAY=MO;BYHOUR={HOURS};BYSETPOS={BEYOND_A_DAY}", **START},
    ],
    ids=lambda mapping: next(iter(mapping.values()))[:50],
)
def test_what_never_comes_is_refused_in_50_ms(mapping: dict[str, str]) -> None:
    assert min(refusal_s(mapping) for _ in range(3)) < 0.05


def refusal_s(mapping: dict[str, str]) -> float:
    """The processor time that it takes to refuse a schedule."""
    start = time.thread_time()
    with pytest.raises(InvalidSchedule) as refused:
        parse_schedule(mapping)
    taken = time.thread_time() - start
    assert refused.value.keyword in ("never", "length")
    assert len(str(refused.value)) < 200
    return taken


@pytest.mark.parametrize(
    ("mapping", "n"),
    [
        ({"cron": "0 0 29 2 */7"}, 20),
        ({"cron": "0 0 29 2 */7", **NEW_YORK}, 20),
        ({"cron": "30 2 8-14 3 */7", "gap": "skip", **NEW_YORK}, 1),
        ({"rrule": f"FREQ=DAILY;{ALL}", **START}, 1000),
        ({"rrule": f"FREQ=DAILY;{ALL};COUNT=10000000000", **START}, 1000),
        ({"rrule": f"FREQ=DAILY;{ALL};BYSETPOS=-1", **START}, 1000),
        ({"rrule": f"FREQ=DAILY;{ALL};BYSETPOS=1,2,-9;COUNT=1000000000", **START}, 1000),
        ({"rrule": "FREQ=DAILY;COUNT=1000000000", **START}, 1000),
        ({"rrule": "FREQ=DAILY;INTERVAL=36000", **START}, 10),
        ({"rrule": "FREQ=SECONDLY", **START}, 1000),
        ({"rrule": "FREQ=SECONDLY;COUNT=1000000000000", **START}, 1000),
        ({"rrule": "FREQ=SECONDLY;BYDAY=MO,TU;BYSECOND=0;COUNT=1000000000", **START}, 1000),
        (
            {
                "rrule": "FREQ=SECONDLY;INTERVAL=7;BYHOUR=1,3,5;BYSECOND=0,2;COUNT=1000000000",
                **START,
            },
            9,
        ),
        ({"rrule": "FREQ=SECONDLY;INTERVAL=7919;BYDAY=MO;BYHOUR=1,3;BYSECOND=0", **START}, 9),
        ({"rrule": f"FREQ=HOURLY;INTERVAL={'9' * 900};BYMONTHDAY=1", **START}, 9),
    ],
    ids=lambda case: next(iter(case.values()))[:40] if isinstance(case, dict) else str(case),
)
def test_what_is_rare_or_long_past_is_found_at_once(mapping: dict[str, str], n: int) -> None:
    with within(1.5):
        found = list(islice(parse_schedule(mapping).after(NOW), n))
    assert found == sorted(set(found))
    assert all(at > NOW for at in found)


def test_an_occurrence_that_every_year_skips_is_never_found() -> None:
    lost = parse_schedule({"cron": "30 2 8-14 3 */7", "gap": "skip", **NEW_YORK})
    assert list(lost.after(datetime(2007, 1, 1, tzinfo=UTC))) == []
    assert next(lost.after(datetime(1999, 1, 1, tzinfo=UTC))).year == 1999


@given(
    st.integers(0, 999),
    st.integers(1, 2000),
    st.integers(2, 400),
    st.integers(0, 399),
    st.integers(0, 399),
)
def test_the_first_hit_is_the_one_that_stepping_finds(
    start: int, step: int, modulus: int, one: int, other: int
) -> None:
    low, high = sorted((one % modulus, other % modulus))
    hits = (k for k in range(modulus + 1) if low <= (start + k * step) % modulus <= high)
    assert first_hit(start % modulus, step, modulus, low, high) == next(hits, None)


sets = st.sampled_from([1, 0b100, 0b10001, (1 << 20) - 1, (1 << 60) - 1, (1 << 60) // 3])


@settings(max_examples=60)
@given(st.integers(1, 20_000), st.integers(0, WEEK), st.integers(1, 127), sets, sets, sets)
def test_a_leap_passes_over_nothing_that_counts(
    minutes: int, reading: int, weekdays: int, hours: int, in_hour: int, in_minute: int
) -> None:
    step = minutes * 30
    times = Times(hours & (1 << 24) - 1, in_hour, in_minute)
    leaps = Leaps(step, weekdays, times)

    def counts(reading: int) -> bool:
        time = reading % 86_400
        return bool(weekdays >> reading // 86_400 % 7 & 1) and times.at_or_after(time) == time

    walk = range(reading, reading + step * (WEEK // gcd(step, WEEK)), step)
    first = next((at for at in walk if counts(at)), None)
    assert leaps.can_meet(reading) == (first is not None)
    if first is not None:
        ahead = leaps.ahead(reading)
        assert reading <= ahead <= first
        assert (ahead - reading) % step == 0
