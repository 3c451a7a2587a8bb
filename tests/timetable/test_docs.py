"""What the page on schedules claims is so."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tocsin.timetable import InvalidSchedule, parse_schedule
from tocsin.timetable.zones import zone_of

PAGE = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text("utf-8")
SPRING = datetime(2026, 3, 8, 4, 59, 59, tzinfo=UTC)
AUTUMN = datetime(2026, 11, 1, 3, 59, 59, tzinfo=UTC)


def local_times(schedule: dict[str, str], after: datetime, hours: int = 24) -> list[str]:
    """The readings in New York within some hours, with the offset in hours."""
    found = parse_schedule({"timezone": "America/New_York", **schedule})
    times = []
    for at in found.after(after):
        if at > after + timedelta(hours=hours):
            break
        offset = zone_of("America/New_York").span(int(at.timestamp())).offset
        times.append(f"{at + timedelta(seconds=offset):%H:%M} {offset // 3600}")
    return times


@pytest.mark.parametrize("text", re.findall(r"`(\{\"[^`]*\})`", PAGE))
def test_the_examples_are_valid(text: str) -> None:
    parse_schedule(json.loads(text))


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ({"cron": "30 2 * * *"}, SPRING, ["03:00 -4"]),
        ({"cron": "30 2 * * *", "gap": "shift"}, SPRING, ["03:30 -4"]),
        ({"cron": "30 2 * * *", "gap": "skip"}, SPRING, []),
        ({"cron": "30 1 * * *"}, AUTUMN, ["01:30 -4"]),
        ({"cron": "30 1 * * *", "fold": "second"}, AUTUMN, ["01:30 -5"]),
        ({"cron": "30 1 * * *", "fold": "both"}, AUTUMN, ["01:30 -4", "01:30 -5"]),
        ({"cron": "15,45 2 * * *"}, SPRING, ["03:00 -4"]),
        ({"cron": "15,45 2 * * *", "gap": "shift"}, SPRING, ["03:15 -4", "03:45 -4"]),
        ({"cron": "*/15 2 * * *"}, SPRING, ["03:00 -4"]),
        ({"cron": "*/15 1 * * *"}, AUTUMN, ["01:00 -4", "01:15 -4", "01:30 -4", "01:45 -4"]),
        ({"rrule": "FREQ=DAILY", "dtstart": "2026-03-01T02:30:00"}, SPRING, ["03:30 -4"]),
        ({"rrule": "FREQ=DAILY", "dtstart": "2026-03-01T01:30:00"}, AUTUMN, ["01:30 -4"]),
    ],
)  # fmt: skip
def test_the_table_of_the_worst_days_holds(
    schedule: dict[str, str], after: datetime, expected: list[str]
) -> None:
    assert local_times(schedule, after, 22) == expected


def test_hours_named_one_by_one_follow_the_wall() -> None:
    spring = local_times({"cron": "0 0-23 * * *"}, SPRING, 4)
    assert spring == ["00:00 -5", "01:00 -5", "03:00 -4", "04:00 -4"]
    autumn = local_times({"cron": "0 0-23 * * *"}, AUTUMN, 4)
    assert autumn == ["00:00 -4", "01:00 -4", "02:00 -5"]


def test_the_sentences_of_the_errors_are_quoted_as_they_are() -> None:
    for mapping in ({"cron": "0 0 1,32 * *"}, {"cron": "0 9 * * *", "timezone": "UTC+2"}):
        with pytest.raises(InvalidSchedule) as caught:
            parse_schedule(mapping)
        assert f"    {caught.value}\n" in PAGE
