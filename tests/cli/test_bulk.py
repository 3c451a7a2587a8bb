"""Many jobs at once from the command line: counted, agreed to, done in slices."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.cli.conftest import Tocsin
from tests.gateway.harness import Harness
from tocsin.client import Bulk, Client, Unavailable, Unreachable
from tocsin.client.errors import ProblemDetails
from tocsin_cli import bulk

NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture(autouse=True)
def jobs(harness: Harness, tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five jobs, of which four have the tag, and slices of two."""
    assert harness.http.get("/v1/jobs").json() == {"items": []}
    monkeypatch.setattr(bulk, "SLICE", 2)
    for name in NAMES:
        tags = [] if name == "e" else ["--tag", "team=x"]
        assert tocsin("job", "put", name, "--every", "1h", "--noop", *tags).code == 0


def listed(tocsin: Tocsin, *options: str) -> list[str]:
    return [job["job_id"] for job in tocsin("job", "list", *options, "--output", "json").json]


def test_they_are_counted_before_anything_is_done(tocsin: Tocsin) -> None:
    said = tocsin("job", "pause", "--tag", "team=x")

    assert (said.code, said.out) == (2, "")
    assert "4 jobs match; --yes goes on to pause them" in said.err
    assert listed(tocsin, "--status", "paused") == []


def test_all_that_fit_are_paused_resumed_and_deleted(tocsin: Tocsin) -> None:
    paused = tocsin("job", "pause", "--tag", "team=x", "--yes")
    assert paused.out == "pause: 4 of 4 jobs\n"
    assert listed(tocsin, "--status", "paused") == NAMES[:4]
    assert tocsin("job", "resume", "--all", "--yes", "--output", "json").json["done"] == 4
    assert listed(tocsin, "--status", "paused") == []
    tocsin("job", "delete", "--search", "a", "--yes")
    assert listed(tocsin) == NAMES[1:]


def test_where_it_ends_early_it_says_how_far_it_came(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gives the command again goes on with what is left."""
    act, asked = Client.bulk_jobs, []

    def fails_at_the_third(self: Client, *arguments: Any, **options: Any) -> Any:
        asked.append(options)
        if len(asked) == 3:
            raise Unreachable("the gateway does not answer")
        return act(self, *arguments, **options)

    monkeypatch.setattr(Client, "bulk_jobs", fails_at_the_third)
    said = tocsin("job", "pause", "--all", "--yes")

    assert said.code == 3
    assert "2 of 5 are done, in their order; then: the gateway does not answer" in said.err
    assert tocsin("job", "pause", "--all", "--yes").out == "pause: 3 of 3 jobs\n"


def test_what_was_refused_is_named_with_its_reason(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = Client.bulk_jobs

    def refuses_one_of_a_slice(self: Client, *arguments: Any, **options: Any) -> Bulk:
        part = act(self, *arguments, **options)
        if not part.done:
            return part
        refusal = {"job_id": f"one of {part.matched}", "detail": "somebody was faster"}
        return replace(part, done=part.done - 1, refused=(refusal,))

    monkeypatch.setattr(Client, "bulk_jobs", refuses_one_of_a_slice)
    said = tocsin("job", "pause", "--tag", "team=x", "--yes")

    assert said.code == 1
    assert said.out.splitlines() == [
        "pause: 2 of 4 jobs",
        "one of 4  somebody was faster",
        "one of 2  somebody was faster",
    ]


def test_what_a_slice_that_ended_early_has_done_is_counted(
    tocsin: Tocsin, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, asked = Client.bulk_jobs, []

    def halts_in_the_second_slice(self: Client, *arguments: Any, **options: Any) -> Any:
        asked.append(options)
        if len(asked) == 3:
            raise Unavailable(ProblemDetails(status=503, detail="1 of 2 are done", done=1))
        return act(self, *arguments, **options)

    monkeypatch.setattr(Client, "bulk_jobs", halts_in_the_second_slice)
    said = tocsin("job", "pause", "--all", "--yes")

    assert said.code == 3
    assert "3 of 5 are done, in their order" in said.err


@pytest.mark.parametrize(
    "arguments",
    [(), ("a", "--all"), ("--all", "--tag", "team"), ("--all", "--note", "quiet")],
)
def test_what_is_meant_must_be_clear(tocsin: Tocsin, arguments: tuple[str, ...]) -> None:
    assert tocsin("job", "pause", *arguments).code == 2
