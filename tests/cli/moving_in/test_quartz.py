"""Quartz' triggers as jobs; above all its days of the week, which count from Sunday = 1."""

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.job_json import parse_job
from tocsin.model.keys import JobKey
from tocsin.timetable import ScheduleFields, schedule_of
from tocsin.timetable.instants import to_datetime, to_ms
from tocsin_cli.moving_in.imports import Import, UnreadableFile
from tocsin_cli.moving_in.quartz import import_quartz
from tocsin_cli.moving_in.quartz_cron import NotCarriedOver, translate

SUNDAY = datetime(2026, 1, 4, tzinfo=UTC)
WEEK = range(1, 8)


def fires(expression: str) -> set[int]:
    """The days of a week on which the translated expression fires, as Quartz counts them."""
    schedule = schedule_of(ScheduleFields(cron=translate(expression).expression))
    after = int(SUNDAY.timestamp() * 1000) - 1
    times = islice(schedule.occurrences_ms(after), 8)
    days = [to_datetime(at) for at in times]
    return {(day.weekday() + 1) % 7 + 1 for day in days if day < SUNDAY + timedelta(days=7)}


def item_and_days() -> st.SearchStrategy[tuple[str, set[int]]]:
    """An item of the field as Quartz' manual explains it, and the days that it names."""
    names = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
    day = st.sampled_from(WEEK)
    return st.one_of(
        day.map(lambda d: (str(d), {d})),
        day.map(lambda d: (names[d - 1], {d})),
        st.tuples(day, day)
        .filter(lambda pair: pair[0] < pair[1])
        .map(lambda pair: (f"{pair[0]}-{pair[1]}", set(range(pair[0], pair[1] + 1)))),
        st.tuples(day, st.integers(1, 6)).map(
            lambda pair: (f"{pair[0]}/{pair[1]}", set(range(pair[0], 8, pair[1])))
        ),
    )


@given(st.lists(item_and_days(), min_size=1, max_size=4))
def test_days_of_the_week_are_the_same_days(items: list[tuple[str, set[int]]]) -> None:
    field = ",".join(item for item, _ in items)

    assert fires(f"0 0 12 ? * {field}") == set().union(*(days for _, days in items))


@pytest.mark.parametrize(
    ("quartz", "ours"),
    [
        ("0 0 12 ? * 1", "0 0 12 ? * 0"),
        ("0 15 10 ? * 6L", "0 15 10 ? * 5L"),
        ("0 15 10 ? * 6#3", "0 15 10 ? * 5#3"),
        ("0 0 0 ? * L", "0 0 0 ? * 6"),
        ("0 0 12 ? * MON-FRI", "0 0 12 ? * MON-FRI"),
        ("0 0/5 14,18 * * ?", "0 0/5 14,18 * * ?"),
        ("0 0 12 L-3 * ?", "0 0 12 L-3 * ?"),
        ("0 /5 * * * ?", "0 */5 * * * ?"),
        ("0 0,/20 12 ? * /2", "0 0,*/20 12 ? * */2"),
        ("0 0 12 15W * ? *", "0 0 12 15W * ?"),
    ],
)
def test_expressions_of_the_manual(quartz: str, ours: str) -> None:
    assert translate(quartz).expression == ours


@pytest.mark.parametrize(
    ("year", "years"), [("*", None), ("2027", (2027, 2027)), ("2026-2030", (2026, 2030))]
)
def test_a_year_is_a_window(year: str, years: tuple[int, int] | None) -> None:
    assert translate(f"0 0 12 1 1 ? {year}").years == years


@pytest.mark.parametrize(
    "expression", ["0 0 12 ? * 0", "0 0 12 ? * 8", "0 0 12 1 1 ? 2026,2028", "0 12 * * *", ""]
)
def test_what_cannot_be_said_is_refused(expression: str) -> None:
    with pytest.raises(NotCarriedOver):
        translate(expression)


HEAD = '<job-scheduling-data xmlns="http://www.quartz-scheduler.org/xml/JobSchedulingData">'
JOB = """<job><name>report</name><group>g</group><description>Daily</description>
  <job-class>com.example.ReportJob</job-class>
  <job-data-map><entry><key>format</key><value>pdf</value></entry></job-data-map></job>"""


YEAR = "<cron-expression>0 0 9 * * ? 2027</cron-expression>"
OF_REPORT = "<name>t</name><job-name>report</job-name><job-group>g</job-group>"


def imported(trigger: str, timezone: str | None = None) -> Import:
    text = f"{HEAD}<schedule>{JOB}<trigger>{trigger}</trigger></schedule></job-scheduling-data>"
    return import_quartz(text, timezone=timezone)


def test_a_cron_trigger_is_a_job_with_the_data_of_both() -> None:
    found = imported(
        """<cron><name>morning</name><job-name>report</job-name><job-group>g</job-group>
        <priority>9</priority><start-time>2026-06-01T00:00:00</start-time>
        <misfire-instruction>MISFIRE_INSTRUCTION_DO_NOTHING</misfire-instruction>
        <cron-expression>0 0 7 ? * 2-6</cron-expression>
        <time-zone>Europe/Berlin</time-zone></cron>"""
    )
    (job,) = found.jobs

    assert (job["job_id"], job["description"]) == ("report", "Daily")
    assert job["schedule"] == {
        "cron": "0 0 7 ? * 1-5",
        "timezone": "Europe/Berlin",
        "start": "2026-05-31T22:00:00Z",
    }
    assert job["handler"] == {"type": "task", "name": "ReportJob"}
    assert (job["payload"], job["priority"]) == ({"format": "pdf"}, "high")
    assert job["catch_up"] == {"policy": "skip"}
    assert "DisallowConcurrentExecution" in found.notices[0].what


def test_years_are_whole_years_of_the_zone() -> None:
    (job,) = imported(
        f"<cron>{OF_REPORT}<cron-expression>0 0 7 * * ? 2027</cron-expression></cron>",
        timezone="Asia/Tokyo",
    ).jobs

    assert job["schedule"] == {
        "cron": "0 0 7 * * ?",
        "timezone": "Asia/Tokyo",
        "start": "2026-12-31T15:00:00Z",
        "end": "2027-12-31T15:00:00Z",
    }


def test_simple_triggers_are_intervals_or_one_offs() -> None:
    def simple(fields: str) -> Import:
        return imported(
            f"<simple>{OF_REPORT}<start-time>2026-06-01T00:00:00Z</start-time>{fields}</simple>"
        )

    (often,) = simple("<repeat-count>9</repeat-count><repeat-interval>90000</repeat-interval>").jobs
    (ever,) = simple("<repeat-count>-1</repeat-count><repeat-interval>60000</repeat-interval>").jobs
    (once,) = simple("").jobs

    assert often["schedule"] == {
        "every": "PT1M30S",
        "start": "2026-06-01T00:00:00Z",
        "end": "2026-06-01T00:13:30.001Z",
    }
    assert often["max_runs"] == 10
    assert "max_runs" not in ever
    assert once["schedule"] == {"at": "2026-06-01T00:00:00Z"}
    assert (
        simple("<repeat-count>-1</repeat-count><repeat-interval>250</repeat-interval>")
        .notices[-1]
        .lost
    )


def test_a_trigger_that_has_fired_for_the_last_time_fires_no_more() -> None:
    """Its number counts from its start, not from the day of the move."""
    (job,) = imported(
        f"<simple>{OF_REPORT}<start-time>2020-01-01T00:00:00Z</start-time>"
        "<repeat-count>2</repeat-count><repeat-interval>60000</repeat-interval></simple>"
    ).jobs
    schedule = parse_job(job, JobKey("default", "report")).schedule
    times = list(schedule_of(schedule).occurrences_ms(0))

    assert [to_datetime(at).minute for at in times] == [0, 1, 2]
    assert times[-1] < to_ms(datetime(2020, 1, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("trigger", "why"),
    [
        ("<cron><name>t</name><job-name>other</job-name></cron>", "not in the file"),
        (f"<calendar-interval>{OF_REPORT}</calendar-interval>", "calendar-interval"),
        (
            f"<cron>{OF_REPORT}<cron-expression>0 0 99 * * ?</cron-expression></cron>",
            "hour",
        ),
        (f"<cron>{OF_REPORT}{YEAR}<time-zone>Mars/Base</time-zone></cron>", "Mars/Base"),
        (f"<cron>{OF_REPORT}<priority>high</priority></cron>", "left out"),
        (f"<simple>{OF_REPORT}</simple>", "when the scheduler starts"),
    ],
)
def test_what_did_not_carry_over_is_told(trigger: str, why: str) -> None:
    found = imported(trigger)

    assert found.jobs == []
    assert any(notice.lost and why in notice.what for notice in found.notices)


@pytest.mark.parametrize("text", ["", "<a", "<a/>", "{}"])
def test_another_file_is_told(text: str) -> None:
    with pytest.raises(UnreadableFile):
        import_quartz(text)
