"""Every case of the schedule semantics, as data."""

import json
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tocsin.timetable import InvalidSchedule, parse_schedule

_LINES = (Path(__file__).parents[1] / "data" / "schedule.jsonl").read_text("utf-8").splitlines()
CASES: list[dict[str, Any]] = [json.loads(line) for line in _LINES]
VALID = [case for case in CASES if "expect" in case]
INVALID = [case for case in CASES if "error" in case]


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize("case", VALID, ids=lambda case: case["id"])
def test_the_next_occurrences_are_as_listed(case: dict[str, Any]) -> None:
    created = _instant(case["created"]) if "created" in case else None
    schedule = parse_schedule(case["schedule"], created=created)
    found = list(islice(schedule.after(_instant(case["after"])), case["n"]))
    assert found == [_instant(text) for text in case["expect"]]


@pytest.mark.parametrize("case", INVALID, ids=lambda case: case["id"])
def test_the_first_error_is_the_one_listed(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_schedule(case["schedule"])
    assert (caught.value.keyword, caught.value.column) == (case["error"], case.get("column"))
    assert len(str(caught.value)) > 20
