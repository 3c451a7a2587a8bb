"""Handlers that are not Tocsin's own: who judges their configuration, and what if nobody."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import msgspec
import pytest

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin import plugins
from tocsin.model.fields import Fields, text
from tocsin_gateway.handler_checks import HandlerChecks, installed_checks

MAIL = {"type": "acme-mail", "to": "ada@acme.example"}
UNCHECKED = "Tocsin-Handler-Unchecked"


def check_mail(config: Fields) -> None:
    config.require("to")
    config.read("to", "", text)
    config.finish()


@pytest.fixture
def checking(tmp_path: Path) -> Iterator[Harness]:
    """A gateway beside which the author's check is installed."""
    options = msgspec.structs.replace(
        PATIENT, handler_checks=HandlerChecks({"acme-mail": check_mail})
    )
    with Harness(tmp_path, options) as made:
        yield made


def test_where_the_check_is_installed_a_wrong_field_is_refused_with_all_others(
    checking: Harness,
) -> None:
    wrong = job(handler={"type": "acme-mail", "too": 1}, pool="A B")
    for answer in (
        checking.http.put("/v1/jobs/a", json=wrong),
        checking.http.put("/v1/jobs/a?dry_run=true", json=wrong),
        checking.http.post("/v1/jobs", json=wrong),
    ):
        pointers = {error["pointer"] for error in answer.json()["errors"]}
        assert answer.status_code == 422
        assert pointers == {"/pool", "/handler/to", "/handler/too"}


def test_a_patch_is_judged_by_what_comes_out_of_it(checking: Harness) -> None:
    checking.http.put("/v1/jobs/a", json=job(handler=MAIL))
    refused = checking.http.patch("/v1/jobs/a", json={"handler": {"to": 7}})
    taken = checking.http.patch("/v1/jobs/a", json={"handler": {"to": "bob@acme.example"}})
    assert (refused.status_code, taken.status_code) == (422, 200)
    assert refused.json()["errors"][0]["pointer"] == "/handler/to"


def test_what_was_checked_is_accepted_without_a_word(checking: Harness) -> None:
    accepted = checking.http.put("/v1/jobs/a", json=job(handler=MAIL))
    assert (accepted.status_code, accepted.headers.get(UNCHECKED)) == (201, None)


def test_where_no_check_is_installed_the_job_is_accepted_and_the_answer_says_so(
    harness: Harness,
) -> None:
    other = harness.http.put("/v1/jobs/a", json=job(handler={"type": "acme-mail", "too": 1}))
    own = harness.http.put("/v1/jobs/b", json=job())
    assert (other.status_code, other.headers[UNCHECKED]) == (201, "acme-mail")
    assert UNCHECKED not in own.headers


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("http", "tests.gateway.test_handler_checks:check_mail", "has a check already"),
        ("acme-mail", "tests.gateway.test_handler_checks:absent", "AttributeError"),
        ("acme-mail", "tests.gateway.test_handler_checks:MAIL", "is a dict, not a function"),
    ],
)
def test_a_check_that_cannot_be_had_is_a_sentence_at_the_start(
    name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = EntryPoint(name, value, plugins.HANDLER_CHECKS)
    monkeypatch.setattr(plugins, "entry_points", lambda group: [point])
    with pytest.raises(plugins.UnusablePlugin, match=told):
        installed_checks()
