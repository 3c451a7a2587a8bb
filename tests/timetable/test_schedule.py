"""Schedules as values: their fields, their sharing, their anchors and windows."""

import threading
from datetime import UTC, datetime, timedelta
from itertools import islice

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timetable.oracle import NaiveCron
from tests.timetable.strategies import Moment, crons, moments
from tests.timetable.test_cron import schedule as cron_schedule
from tocsin.timetable import ScheduleFields, parse_schedule, schedule_of
from tocsin.timetable.instants import LAST_MS, to_ms

NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
HOUR_MS = 3_600_000

MAPPINGS: list[dict[str, object]] = [
    {"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin", "gap": "skip", "fold": "both"},
    {"cron": "@Hourly", "start": "2026-01-01T00:00:00Z", "end": "2027-01-01T00:00:00+01:00"},
    {"at": "2026-07-01T09:00", "timezone": "America/New_York"},
    {"every": "PT90S", "start": "2026-01-01T00:00:00.250Z"},
    {"rrule": "rrule:FREQ=DAILY;COUNT=3", "dtstart": "2026-03-07T02:30", "gap": "next"},
]


@pytest.mark.parametrize("mapping", MAPPINGS, ids=lambda mapping: next(iter(mapping)))
def test_fields_make_the_same_schedule_again(mapping: dict[str, object]) -> None:
    parsed = parse_schedule(mapping)
    again = schedule_of(parsed.fields)
    assert again == parsed
    assert hash(again) == hash(parsed)
    other = schedule_of(msgspec.structs.replace(parsed.fields))
    assert other == again
    assert (other is again) == (parsed.kind in ("cron", "rrule"))
    assert list(islice(again.after(NOW), 5)) == list(islice(parsed.after(NOW), 5))


def test_fields_keep_what_was_written() -> None:
    fields = parse_schedule(MAPPINGS[0]).fields
    assert fields == ScheduleFields(
        cron="0 7 * * MON-FRI", timezone="Europe/Berlin", gap="skip", fold="both"
    )
    rule = parse_schedule(MAPPINGS[4]).fields
    assert (rule.rrule, rule.dtstart) == ("rrule:FREQ=DAILY;COUNT=3", "2026-03-07T02:30")
    assert (rule.timezone, rule.gap, rule.fold, rule.start) == ("UTC", "next", None, None)
    assert parse_schedule(MAPPINGS[3]).fields.every_ms == 90_000


@pytest.mark.parametrize("mapping", MAPPINGS, ids=lambda mapping: next(iter(mapping)))
def test_kind_and_instant_of_a_one_off(mapping: dict[str, object]) -> None:
    parsed = parse_schedule(mapping)
    assert parsed.kind in mapping
    expected = to_ms(datetime(2026, 7, 1, 13, tzinfo=UTC)) if parsed.kind == "at" else None
    assert parsed.at_ms == expected


def test_a_given_start_is_an_occurrence_and_the_creation_is_none() -> None:
    created = parse_schedule({"every": "PT1H"}, created=NOW)
    anchor = to_ms(NOW)
    before = anchor - 1
    assert created.next_ms(before) == anchor + HOUR_MS
    started = created.with_start(anchor)
    assert started.fields.start == anchor
    assert started.next_ms(before) == anchor
    assert started.next_ms(anchor) == created.next_ms(anchor) == anchor + HOUR_MS
    assert started != created
    assert parse_schedule({"every": "PT1H"}, created=NOW) == created
    assert parse_schedule({"every": "PT1H"}, created=NOW + timedelta(seconds=1)) != created


def test_an_interval_without_anchor_is_valid_but_cannot_be_asked() -> None:
    unanchored = parse_schedule({"every": "PT1H"})
    with pytest.raises(ValueError, match="creation time"):
        unanchored.next_ms(0)
    assert unanchored.with_start(0).next_ms(0) == HOUR_MS


@given(
    st.integers(1, 10**7), st.integers(0, 10**13), st.integers(0, 10**13), st.integers(1, 10**13)
)
def test_an_interval_is_a_grid(seconds: int, anchor: int, after: int, length: int) -> None:
    fields = ScheduleFields(every_ms=seconds * 1000, start=anchor, end=anchor + length)
    found = schedule_of(fields).next_ms(after)
    steps = max(0, (after - anchor) // (seconds * 1000) + 1)
    expected = anchor + steps * seconds * 1000
    assert found == (expected if expected < anchor + length and expected <= LAST_MS else None)


@settings(max_examples=100, deadline=None)
@given(crons, moments(1000, 300), st.integers(0, 10**8), st.integers(1, 10**8))
def test_a_window_takes_away_and_nothing_else(
    cron: NaiveCron, moment: Moment, wait: int, length: int
) -> None:
    whole = cron_schedule(cron, timezone=moment.zone)
    start = to_ms(moment.instant) + wait
    within = schedule_of(msgspec.structs.replace(whole.fields, start=start, end=start + length))
    everything = islice(whole.occurrences_ms(to_ms(moment.instant)), 300)
    expected = [at for at in everything if start <= at < start + length]
    found = list(islice(within.occurrences_ms(to_ms(moment.instant)), len(expected) + 1))
    assert found[: len(expected)] == expected
    assert all(start <= at < start + length for at in found)


def test_a_window_may_leave_nothing() -> None:
    empty = parse_schedule(
        {"cron": "0 0 1 1 *", "start": "2026-02-01T00:00:00Z", "end": "2026-03-01T00:00:00Z"}
    )
    assert list(empty.after(datetime(1970, 1, 1, tzinfo=UTC))) == []


def test_nothing_comes_before_1970_or_after_9999() -> None:
    every_second = parse_schedule({"cron": "* * * * * *", "timezone": "Pacific/Kiritimati"})
    assert next(every_second.after(datetime(1900, 1, 1, tzinfo=UTC))) == datetime(
        1970, 1, 1, tzinfo=UTC
    )
    last = datetime(9999, 12, 31, 23, 59, 58, tzinfo=UTC)
    assert list(every_second.after(last)) == [last + timedelta(seconds=1)]
    rule = parse_schedule({"rrule": "FREQ=DAILY", "dtstart": "9999-12-30T00:00:00"})
    assert len(list(rule.after(NOW))) == 2
    old = parse_schedule({"rrule": "FREQ=YEARLY;COUNT=10", "dtstart": "1965-06-01T00:00:00"})
    ended = {"rrule": "FREQ=DAILY;UNTIL=19650603T000000Z", "dtstart": "1965-06-01T00:00:00"}
    assert list(parse_schedule(ended).after(NOW)) == []
    assert [at.year for at in old.after(datetime(1900, 1, 1, tzinfo=UTC))] == list(
        range(1970, 1975)
    )


def test_a_datetime_that_is_asked_with_needs_an_offset() -> None:
    with pytest.raises(ValueError, match="aware"):
        parse_schedule({"cron": "* * * * *"}).after(datetime(2026, 1, 1))  # noqa: DTZ001


def test_occurrences_are_listed_lazily_and_in_utc() -> None:
    found = parse_schedule({"cron": "0 0 29 2 *", "timezone": "Asia/Tokyo"}).after(NOW)
    assert next(found) == datetime(2028, 2, 28, 15, tzinfo=UTC)
    assert next(found).tzinfo is UTC


def test_threads_that_share_a_schedule_get_the_same_answers() -> None:
    shared = parse_schedule({"cron": "*/7 * * * *", "timezone": "Europe/Berlin"})
    answers: list[list[int]] = []

    def ask() -> None:
        answers.append(list(islice(shared.occurrences_ms(to_ms(NOW)), 3000)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(answer == answers[0] for answer in answers)


def test_a_schedule_shows_what_it_is() -> None:
    assert repr(parse_schedule({"cron": "@daily"})) == "Schedule(cron='@daily', timezone='UTC')"
