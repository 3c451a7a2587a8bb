"""`tocsin next`: when a schedule runs, without any server."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tocsin

SPRING = ("--tz", "Europe/Berlin", "--after", "2026-03-28T00:00:00Z")
ONCE = '{"at": "2026-05-01T12:00:00Z"}'


def test_people_get_a_sentence_and_a_table_that_marks_what_a_dst_rule_did(tocsin: Tocsin) -> None:
    said = tocsin("next", "30 2 * * *", "-n", "3", *SPRING)
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines() == [
        "At 02:30 every day, Europe/Berlin time.",
        "UTC                   LOCAL                OFFSET  RULE",
        "2026-03-28T01:30:00Z  2026-03-28T02:30:00  +01:00",
        "2026-03-29T01:00:00Z  2026-03-29T03:00:00  +02:00  gap=next",
        "2026-03-30T00:30:00Z  2026-03-30T02:30:00  +02:00",
    ]


def test_programs_get_a_list_of_utc_instants(tocsin: Tocsin) -> None:
    answer = tocsin("next", "30 2 * * *", "-n", "2", *SPRING, "--output", "json").json
    assert answer["occurrences"] == ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z"]
    assert answer["description"] == "At 02:30 every day, Europe/Berlin time."
    assert [each["dst_rule"] for each in answer["details"]] == [None, "gap=next"]


def test_without_a_time_the_occurrences_are_those_from_now_on(tocsin: Tocsin) -> None:
    shown = tocsin("next", "* * * * *", "--output", "json").json["occurrences"]
    later = tocsin("next", "* * * * *", "--after", shown[0], "--output", "json").json
    assert later["occurrences"][:4] == shown[1:]


def test_a_whole_schedule_comes_as_json_or_from_a_file(tocsin: Tocsin, folder: Path) -> None:
    schedule = {"rrule": "FREQ=MONTHLY;BYDAY=-1FR", "dtstart": "2026-01-30T17:00:00"}
    (folder / "schedule.json").write_text(json.dumps(schedule))
    options = ("-n", "1", "--after", "2026-12-01T00:00:00Z", "--output", "json")
    for given in (json.dumps(schedule), "@schedule.json"):
        answer = tocsin("next", "--schedule", given, *options).json
        assert answer["occurrences"] == ["2026-12-25T17:00:00Z"]


def test_where_none_is_left_it_says_so(tocsin: Tocsin) -> None:
    asked = ("next", "--schedule", ONCE, "--after", "2026-05-01T12:00:00Z")
    assert tocsin(*asked).out == "Once, at 2026-05-01T12:00:00Z.\nno occurrence is left\n"
    assert tocsin(*asked, "--output", "json").json["occurrences"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give either a cron expression or --schedule JSON|@FILE"),
        (("@daily", "--schedule", ONCE), "give either a cron expression or --schedule JSON|@FILE"),
        (("0 24 * * *",), "hour field, column 3: '24' is not valid; values end at 23"),
        (("0 0 30 2 *",), "never: '0 0 30 2 *' matches no date"),
        (("@daily", "--tz", "UTC+2"), "timezone: 'UTC+2' is not an IANA zone"),
        (("@daily", "--after", "2026-03-28"), "--after '2026-03-28': write it as 2026-05-01T12"),
        (("@daily", "--after", "0001-01-01T00:00:00+02:00"), "must lie in the years 1970 to 9999"),
        (("@daily", "-n", "0"), "'-n'"),
        (("--schedule", '{"every": 60, "tz": "UTC"}'), "unknown: a schedule has no field 'tz'"),
        (("--schedule", "[]"), "not a JSON object"),
        (("--schedule", "{"), "--schedule is not JSON"),
        (("--schedule", "\udcff"), "--schedule is not JSON"),
        (("--schedule", "@nowhere.json"), "nowhere.json: No such file or directory"),
        (("--schedule", "@."), ".: Is a directory"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_named_with_exit_code_2(
    tocsin: Tocsin, arguments: tuple[str, ...], told: str
) -> None:
    said = tocsin("next", *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
