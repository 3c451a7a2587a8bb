"""Every situation that has broken another scheduler has a test here that names it.

`data/behaviour.jsonl`: id, area, symptom, input, and what is right. A test says which situation it
is about by its id in its name or in that of a parameter: `test_b075_…`, `id="b163 an edit"`.
"""

import re
from functools import cache
from pathlib import Path

import msgspec
import pytest

TESTS = Path(__file__).parent


class Case(msgspec.Struct):
    id: str
    area: str
    symptom: str
    input: str
    right: str


def cases() -> list[Case]:
    lines = (TESTS / "data" / "behaviour.jsonl").read_bytes()
    return msgspec.json.Decoder(Case).decode_lines(lines)


@cache
def named() -> frozenset[str]:
    """Ids in the names of tests and of parameters."""
    pattern = re.compile(r"(?:def test|_|id=\")_?(b\d{3})(?=[_ ])")
    sources = (path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    return frozenset(found.upper() for text in sources for found in pattern.findall(text))


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_the_situation_has_a_test(case: Case) -> None:
    assert case.id in named(), f"{case.symptom} {case.right}"


def test_every_id_is_that_of_a_situation() -> None:
    assert named() <= {case.id for case in cases()}
