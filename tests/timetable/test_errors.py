"""What is wrong with a schedule is said by keyword, by column and in a sentence."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timetable.oracle import NaiveCron
from tests.timetable.strategies import crons, crons_with_seconds
from tocsin.timetable import InvalidSchedule, Schedule, parse_schedule

FIELDS = ["second", "minute", "hour", "day-of-month", "month", "day-of-week"]
CRON_KEYWORDS = {*FIELDS, "cron", "length", "fields", "nickname", "never"}
OPTIONS = {"kind", "unknown", "timezone", "gap", "fold", "start", "end", "dtstart"}
KEYWORDS = CRON_KEYWORDS | OPTIONS | {"at", "every", "rrule"}


def error_of(mapping: dict[str, Any]) -> InvalidSchedule:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(mapping)
    return caught.value


def outcome(mapping: dict[str, Any]) -> Schedule | InvalidSchedule:
    try:
        return parse_schedule(mapping)
    except InvalidSchedule as error:
        return error


@given(st.text("0123456789*/-,?LW#SUNMONJAN@HR~ \t\n\u00a0", max_size=40))
def test_any_text_is_a_schedule_or_an_error_that_says_where(text: str) -> None:
    found = outcome({"cron": text})
    if isinstance(found, InvalidSchedule):
        assert found.keyword in CRON_KEYWORDS
        assert (found.column is not None) == (found.keyword in FIELDS)
        assert found.column is None or 1 <= found.column <= len(text)


texts = st.text("aZ09:-+/TP ", max_size=12)
values = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts, st.lists(texts, max_size=2)
)
likely = st.sampled_from(
    ["0 9 * * *", "UTC", "next", "first", "2026-01-01T00:00:00Z", "FREQ=DAILY", "PT5M", 60]
)
keys = st.sampled_from(
    ["cron", "at", "every", "rrule", *sorted(OPTIONS - {"kind", "unknown"}), "tz"]
)


@settings(max_examples=200)
@given(st.dictionaries(keys, values | likely, max_size=5))
def test_any_object_is_a_schedule_or_an_error_with_a_known_keyword(mapping: dict[str, Any]) -> None:
    found = outcome(mapping)
    assert isinstance(found, Schedule) or found.keyword in KEYWORDS
    assert isinstance(found, Schedule) or len(str(found)) > 20


WRONG_ITEMS = st.sampled_from(
    ["", "99", "x", "1-", "*/0", "5-10/0", "+1", "1--2", "٣", "H", "?5", "L-31", "8#1"]
)


@settings(deadline=None)
@given(crons | crons_with_seconds, st.integers(0, 5), st.integers(0, 5), WRONG_ITEMS)
def test_the_column_is_that_of_the_wrong_list_item(
    cron: NaiveCron, which: int, before: int, wrong: str
) -> None:
    fields = cron.text.split()
    which %= len(fields)
    items = [item for item in fields[which].split(",") if item != "?"] or ["*"]
    place = before % (len(items) + 1)
    items.insert(place, wrong)
    fields[which] = ",".join(items)
    if fields[which] == "":
        return
    text = "  ".join(fields)
    column = len("  ".join([*fields[:which], ""])) + len(",".join([*items[:place], "x"]))
    error = error_of({"cron": text})
    assert (error.keyword, error.column) == (FIELDS[which - len(fields)], column)


@settings(max_examples=30, deadline=None)
@given(crons)
def test_the_first_wrong_field_is_reported(cron: NaiveCron) -> None:
    fields = cron.text.split()
    fields[1] = "24"
    fields[3] = "13"
    assert error_of({"cron": " ".join(fields)}).keyword == "hour"


@pytest.mark.parametrize(
    ("mapping", "keyword"),
    [
        ({"cron": "x", "at": "x", "tz": 1}, "kind"),
        ({"cron": None, "every": 60}, "kind"),
        ({"cron": "x", "tz": 1, "timezone": "x"}, "unknown"),
        ({"cron": "x", "timezone": None, "gap": "x"}, "timezone"),
        ({"cron": "x", "gap": None, "fold": "x"}, "gap"),
        ({"cron": "x", "fold": "First", "start": "x"}, "fold"),
        ({"cron": "x", "start": None, "end": "x"}, "start"),
        ({"cron": "x", "end": 1, "dtstart": "x"}, "end"),
        ({"cron": "x", "dtstart": None}, "dtstart"),
        ({"cron": None}, "cron"),
        ({"cron": ["0 0 * * *"]}, "cron"),
        ({"at": None}, "at"),
        ({"every": None}, "every"),
        ({"rrule": "x"}, "dtstart"),
        ({"rrule": None, "dtstart": "2026-01-01T00:00:00"}, "rrule"),
        ({"rrule": "FREQ=DAILY", "dtstart": "2026-01-01T00:00:00.5"}, "dtstart"),
        ({"rrule": "FREQ=DAILY", "dtstart": "2026-01-01"}, "dtstart"),
        ({"cron": "0 0 30 2 x"}, "day-of-week"),
        ({"every": 60, "start": "2026-01-01T00:00:00Z", "end": "2026-01-01T00:00:00Z"}, "end"),
        ({"at": "1969-12-31T23:59:59.999Z"}, "at"),
        ({"at": "9999-12-31T23:59:59-01:00"}, "at"),
        ({"at": "0001-01-01T00:00:00"}, "at"),
        ({"at": "2026-05-01T12:00:00.5Z", "end": "2026-05-01T12:00:00Z"}, "never"),
        ({"at": "2026-05-01T12:00:00Z", "start": "2026-05-01T12:00:00.001Z"}, "never"),
    ],
)
def test_errors_come_in_the_order_of_the_checks(mapping: dict[str, Any], keyword: str) -> None:
    assert error_of(mapping).keyword == keyword


@pytest.mark.parametrize(
    ("mapping", "hint"),
    [
        ({"cron": "0 9 * * *", "timezone": "UTC+2"}, "Etc/GMT-2"),
        ({"cron": "0 9 * * *", "timezone": "-03:00"}, "Etc/GMT+3"),
        ({"cron": "0 9 * * *", "timezone": "GMT+5:30"}, "Europe/Berlin"),
        ({"cron": "0 9 * * *", "timezone": "PST"}, "America/Los_Angeles"),
        ({"cron": "0 9 * * *", "timezone": "europe/berlin "}, "is Europe/Berlin meant"),
        ({"cron": "0 0 8 * * 2 2027"}, "no year field"),
        ({"cron": "@reboot"}, "no restart"),
        ({"cron": "@every 5m"}, '{"every": "PT5M"}'),
        ({"cron": "H 0 * * *"}, "jitter"),
        ({"cron": "0 R * * *"}, "jitter"),
        ({"cron": "0~30 0 * * *"}, "jitter"),
        ({"cron": "60 * * * *"}, "values end at 59"),
        ({"cron": "0 24 * * *"}, "values end at 23"),
        ({"cron": "*/90 * * * *"}, "1 to 60"),
        ({"cron": "1,,2 * * * *"}, "comma"),
        ({"cron": "0 17 * * monday"}, "MON"),
        ({"cron": "CRON_TZ=Europe/Paris 0 6 * * *"}, "timezone"),
        ({"cron": "0 9 * * *", "tz": "Europe/Berlin"}, "timezone"),
        ({"every": "60"}, "quotes"),
        ({"every": "P1M"}, "rrule or cron"),
        ({"every": 1.5}, "fraction"),
        ({"cron": "0 9 * * *", "start": "2026-01-01T00:00:00"}, "2026-05-01T12:00:00+02:00"),
        ({"rrule": "FREQ=HOURLY;BYMINUTE=0", "dtstart": "2026-01-01T00:00:00"}, "FREQ=MINUTELY"),
        (
            {"rrule": "FREQ=DAILY;UNTIL=20270101", "dtstart": "2026-01-01T00:00:00"},
            "20260330T070000Z",
        ),
    ],
)
def test_the_sentence_says_what_is_meant_where_that_is_plain(
    mapping: dict[str, Any], hint: str
) -> None:
    assert hint in str(error_of(mapping))


def test_the_sentence_names_field_column_and_what_is_allowed() -> None:
    message = str(error_of({"cron": "0 0 1,32 * *"}))
    assert message == (
        "day-of-month field, column 7: '32' is not valid;"
        " allowed are 1-31, *, a-b and /step, in a list with commas"
    )


def test_an_error_survives_a_trip_between_processes() -> None:
    error = pickle.loads(pickle.dumps(error_of({"cron": "60 * * * *"})))
    assert (error.keyword, error.column) == ("minute", 1)
    assert "values end at 59" in str(error)


def test_numbers_come_as_json_writes_them() -> None:
    for text in ("60", "60.0", "6e1"):
        fields = parse_schedule(json.loads(f'{{"every": {text}}}')).fields
        assert fields.every_ms == 60_000
    for text in ("1e400", "NaN", "-60", "0.5", "true", "31536000000"):
        assert error_of(json.loads(f'{{"every": {text}}}')).keyword == "every"
