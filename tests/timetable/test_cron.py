"""Cron against a naive walk of the clock, over random zones, expressions and changes of offset."""

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise, takewhile

from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tests.timetable.oracle import NaiveCron, zone
from tests.timetable.strategies import (
    Moment,
    crons,
    crons_with_seconds,
    folds,
    gaps,
    moments,
)
from tocsin.timetable import InvalidSchedule, Schedule, parse_schedule


def schedule(cron: NaiveCron, **options: str) -> Schedule:
    """The schedule of an expression, if it matches a date at all."""
    try:
        return parse_schedule({"cron": cron.text, **options})
    except InvalidSchedule as error:
        if error.keyword == "never":
            reject()
        raise


def between(schedule: Schedule, start: datetime, end: datetime) -> list[datetime]:
    return list(takewhile(lambda instant: instant <= end, schedule.after(start)))


@settings(max_examples=150, deadline=None)
@given(crons, moments(1000, 300), gaps, folds)
def test_minutes_are_those_of_a_walk_round_the_clock(
    cron: NaiveCron, moment: Moment, gap: str, fold: str
) -> None:
    start, end = moment.instant, moment.instant + timedelta(days=1)
    found = between(schedule(cron, timezone=moment.zone, gap=gap, fold=fold), start, end)
    assert found == cron.between(start, end, zone(moment.zone), gap, fold)


@settings(max_examples=50, deadline=None)
@given(crons_with_seconds, moments(100, 60), gaps, folds)
def test_seconds_are_those_of_a_walk_round_the_clock(
    cron: NaiveCron, moment: Moment, gap: str, fold: str
) -> None:
    start, end = moment.instant, moment.instant + timedelta(hours=1)
    found = between(schedule(cron, timezone=moment.zone, gap=gap, fold=fold), start, end)
    assert found == cron.between(start, end, zone(moment.zone), gap, fold)


@settings(max_examples=80, deadline=None)
@given(crons, st.integers(1970, 9990))
def test_dates_are_those_of_a_walk_through_the_calendar(cron: NaiveCron, year: int) -> None:
    found = schedule(cron)
    first = datetime(year, 1, 1, tzinfo=UTC)
    days = (first + timedelta(days=n) for n in range(1500))
    expected = list(islice((day.date() for day in days if cron.matches_date(day.date())), 12))
    walked: list[date] = []
    last_second = first - timedelta(seconds=1)
    while len(walked) < len(expected):
        walked.append(next(found.after(last_second)).date())
        last_second = datetime(*walked[-1].timetuple()[:3], 23, 59, 59, tzinfo=UTC)
    assert walked == expected


@settings(max_examples=150, deadline=None)
@given(crons, moments(2000, 600), gaps, folds, st.integers(0, 3 * 86_400))
def test_the_order_is_strict_and_every_way_of_asking_agrees(
    cron: NaiveCron, moment: Moment, gap: str, fold: str, seconds: int
) -> None:
    found = schedule(cron, timezone=moment.zone, gap=gap, fold=fold)
    at_once = list(islice(found.after(moment.instant), 8))
    assert all(earlier < later for earlier, later in pairwise([moment.instant, *at_once]))
    step_by_step, at = [], moment.instant
    for _ in at_once:
        at = next(found.after(at))
        step_by_step.append(at)
    assert step_by_step == at_once
    later = moment.instant + timedelta(seconds=seconds)
    rest = [instant for instant in at_once if instant > later]
    assert list(islice(found.after(later), len(rest))) == rest
