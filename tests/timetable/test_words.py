"""Descriptions and previews, for people."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings

from tests.timetable.oracle import NaiveCron
from tests.timetable.strategies import (
    Moment,
    crons,
    crons_with_seconds,
    folds,
    gaps,
    moments,
    zones,
)
from tests.timetable.test_cron import schedule as cron_schedule
from tests.timetable.test_vectors import VALID
from tocsin.timetable import Preview, describe, parse_schedule, preview

NEW_YORK = {"timezone": "America/New_York"}


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ({"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin"},
         "At 07:00, on Monday to Friday, Europe/Berlin time."),
        ({"cron": "*/15 * * * *"}, "Every 15 minutes, UTC."),
        ({"cron": "* * * * *"}, "Every minute, UTC."),
        ({"cron": "*/10 * * * * *"}, "Every 10 seconds, UTC."),
        ({"cron": "@hourly"}, "At minute 0 of every hour, UTC."),
        ({"cron": "@daily"}, "At 00:00 every day, UTC."),
        ({"cron": "0,30 9-17 * * 1-5"},
         "At minutes 0 and 30 of hours 9 to 17, on Monday to Friday, UTC."),
        ({"cron": "0 0 13 * 5"}, "At 00:00, on day 13 of the month, and also on Friday, UTC."),
        ({"cron": "0 0 13 * */5"},
         "At 00:00, on day 13 of the month, if it is also Sunday and Friday, UTC."),
        ({"cron": "0 12 1,LW JAN,MAR-MAY ?"},
         ("At 12:00, on day 1 of the month and the last Monday-to-Friday day of the month,"
          " in January and March to May, UTC.")),
        ({"cron": "0 0 L-2,15W * *"},
         ("At 00:00, on the third to last day of the month and the Monday-to-Friday day nearest to"
          " the 15th of the month, UTC.")),
        ({"cron": "30 2 * * SUN#2,FRIL", "gap": "skip", "fold": "both", **NEW_YORK},
         ("At 02:30, on the second Sunday of the month and the last Friday of the month,"
          " America/New_York time; a time that the clocks skip is left out;"
          " a time that comes twice counts both times.")),
        ({"cron": "0 * * * *", "start": "2026-03-01T10:00:00Z", "end": "2026-04-01T00:00:00Z"},
         ("At minute 0 of every hour, UTC, from 2026-03-01T10:00:00Z on,"
          " before 2026-04-01T00:00:00Z.")),
        ({"at": "2026-05-01t12:00:00z", "gap": "skip"}, "Once, at 2026-05-01T12:00:00Z."),
        ({"at": "2026-05-01T12:00", "fold": "both", **NEW_YORK},
         ("Once, on 2026-05-01 at 12:00, America/New_York time;"
          " a time that comes twice counts the first time.")),
        ({"every": 3600}, "Every hour, counted from its creation."),
        ({"every": "PT1H30M", "start": "2026-01-01T00:00:00Z"},
         "Every 1 hour 30 minutes, counted from 2026-01-01T00:00:00Z."),
        ({"rrule": "FREQ=WEEKLY;INTERVAL=2;BYDAY=TU,SU;COUNT=4", "dtstart": "1997-08-05T09:00"},
         "Every 2 weeks on Tuesday and Sunday, from 1997-08-05T09:00 on, 4 times in all, UTC."),
        ({"rrule": "FREQ=YEARLY;BYMONTH=11;BYDAY=4TH;BYHOUR=9,17;BYMINUTE=30",
          "dtstart": "2026-01-01T00:00:00"},
         ("Every year in November on the fourth Thursday at 09:30 and 17:30,"
          " from 2026-01-01T00:00:00 on, UTC.")),
        ({"rrule": "FREQ=MONTHLY;BYDAY=MO,FR;BYSETPOS=1,-1;UNTIL=20270101T000000Z",
          "dtstart": "2026-01-01T00:00:00"},
         ("Every month on Monday and Friday, of these the first and last,"
          " from 2026-01-01T00:00:00 on, until 2027-01-01T00:00:00Z, UTC.")),
        ({"rrule": "FREQ=HOURLY;BYHOUR=9", "dtstart": "2026-01-01T00:00:00", "gap": "next"},
         "Every hour at hour 9, from 2026-01-01T00:00:00 on, UTC."),
    ],
)  # fmt: skip
def test_a_schedule_is_described_in_a_sentence(mapping: dict[str, Any], sentence: str) -> None:
    assert describe(parse_schedule(mapping)) == sentence


@pytest.mark.parametrize("case", VALID, ids=lambda case: case["id"])
def test_every_valid_schedule_has_a_description(case: dict[str, Any]) -> None:
    sentence = describe(parse_schedule(case["schedule"]))
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert "  " not in sentence


@settings(max_examples=60, deadline=None)
@given(crons | crons_with_seconds, zones)
def test_every_expression_has_a_description(cron: NaiveCron, zone: str) -> None:
    assert len(describe(cron_schedule(cron, timezone=zone))) > 10


def rules(mapping: dict[str, str], after: datetime, n: int) -> list[str | None]:
    return [shown.dst_rule for shown in preview(parse_schedule(mapping), after, n)]


def test_a_preview_shows_local_time_offset_and_where_a_rule_acted() -> None:
    schedule = parse_schedule({"cron": "30 2 * * *", **NEW_YORK})
    assert preview(schedule, datetime(2026, 3, 7, tzinfo=UTC), 3) == [
        Preview("2026-03-07T07:30:00Z", "2026-03-07T02:30:00", "-05:00", None),
        Preview("2026-03-08T07:00:00Z", "2026-03-08T03:00:00", "-04:00", "gap=next"),
        Preview("2026-03-09T06:30:00Z", "2026-03-09T02:30:00", "-04:00", None),
    ]


SPRING, AUTUMN = datetime(2026, 3, 8, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("mapping", "after", "expected"),
    [
        ({"cron": "30 2 * * *", "gap": "shift"}, SPRING, ["gap=shift", None]),
        ({"cron": "30 2 * * *", "gap": "skip"}, SPRING, [None, None]),
        ({"cron": "0 2,3 * * *"}, SPRING, ["gap=next", None]),
        ({"cron": "30 1 * * *"}, AUTUMN, ["fold=first", None]),
        ({"cron": "30 1 * * *", "fold": "second"}, AUTUMN, ["fold=second", None]),
        ({"cron": "30 1 * * *", "fold": "both"}, AUTUMN, ["fold=both", "fold=both", None]),
        ({"cron": "30 * * * *", "fold": "both"}, AUTUMN, [None] * 5),
        ({"at": "2026-03-08T02:30"}, SPRING, ["gap=next"]),
        ({"at": "2026-11-01T01:30", "fold": "both"}, AUTUMN, ["fold=first"]),
        ({"at": "2026-11-01T01:30:00-04:00"}, AUTUMN, [None]),
        ({"rrule": "FREQ=DAILY", "dtstart": "2026-03-07T02:30:00"}, SPRING, ["gap=shift", None]),
        ({"rrule": "FREQ=DAILY;UNTIL=20260310T000000Z", "dtstart": "2026-03-07T02:30:00"}, SPRING,
         ["gap=shift", None]),
        ({"rrule": "FREQ=HOURLY", "dtstart": "2026-03-08T02:30:00"}, SPRING, [None, None]),
    ],
)  # fmt: skip
def test_a_preview_marks_what_a_rule_made_or_chose(
    mapping: dict[str, str], after: datetime, expected: list[str | None]
) -> None:
    assert rules({**mapping, **NEW_YORK}, after, len(expected)) == expected


@settings(max_examples=100, deadline=None)
@given(crons, moments(1000, 300), gaps, folds)
def test_a_preview_reads_back_to_the_same_instants(
    cron: NaiveCron, moment: Moment, gap: str, fold: str
) -> None:
    schedule = cron_schedule(cron, timezone=moment.zone, gap=gap, fold=fold)
    shown = preview(schedule, moment.instant, 5)
    found = [datetime.fromisoformat(one.utc) for one in shown]
    assert found == [datetime.fromisoformat(one.local + one.offset) for one in shown]
    assert [one.dst_rule for one in shown if cron.elapsed] == [None] * len(shown) * cron.elapsed
