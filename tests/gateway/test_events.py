"""Server-sent events: each decision and each word of a worker once, also over a broken connection,
and signs of life."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tocsin.model.events import Event, EventType
from tocsin.model.keys import JobKey
from tocsin.model.runs import Error, Run
from tocsin_gateway.api.event_stream import HEARTBEAT_MS
from tocsin_gateway.projection import outcome_tail
from tocsin_gateway.projection.event_feed import write_place
from tocsin_gateway.projection.identity import wipe


class Heard(NamedTuple):
    """One event of a stream."""

    id: str
    type: str
    data: dict[str, Any]


def heard(text: str) -> list[Heard]:
    """The events of a stream, as a browser reads it."""
    found, last_id = [], ""
    for block in text.split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line != ":")
        last_id = fields.get("id", last_id)
        if "data" in fields:
            found.append(Heard(last_id, fields["event"], json.loads(fields["data"])))
    return found


def last_id(text: str) -> str:
    """What a browser sends when it connects again."""
    return [line[4:] for line in text.splitlines() if line.startswith("id: ")][-1]


def tell(harness: Harness, *reasons: str, job_id: str = "a", kind: EventType = "skipped") -> None:
    for reason in reasons:
        event = Event(
            tenant="default",
            job_id=job_id,
            type=kind,
            time=harness.cluster.clock.now_ms(),
            reason=reason,
        )
        harness.scheduler.tell(event)


def listen(
    harness: Harness, count: int, query: str = "", after: str = "", say: Sequence[str] = ()
) -> list[Heard]:
    """That many events of a stream."""
    text = harness.listen(
        f"/v1/events{query}",
        lambda text: len(heard(text)) >= count,
        {"Last-Event-ID": after} if after else {},
        meanwhile=lambda: tell(harness, *say),
    )
    return heard(text)


def place(harness: Harness) -> str:
    """Where a stream that hears nothing stands."""
    return last_id(harness.listen("/v1/events", lambda text: "id: " in text))


def test_what_is_decided_from_now_on_is_told(harness: Harness) -> None:
    tell(harness, "before")
    harness.settle()
    found = listen(harness, 2, say=("one", "two"))

    assert [(each.type, each.data["reason"]) for each in found] == [
        ("skipped", "one"),
        ("skipped", "two"),
    ]
    assert (found[0].data["tenant"], found[0].data["job_id"]) == ("default", "a")


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    told=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=30),
    breaks=st.lists(st.integers(1, 30), max_size=3),
)
def test_after_a_broken_connection_nothing_is_missing_or_told_twice(
    harness: Harness, told: list[str], breaks: list[int]
) -> None:
    after = place(harness)
    for number, job_id in enumerate(told):
        harness.cluster.clock.advance(1)
        tell(harness, str(number), job_id=job_id)
    harness.settle()
    found: list[str] = []
    for read in [*breaks, len(told)]:
        missing = min(read, len(told) - len(found))
        if missing:
            got = listen(harness, missing, after=after)[:missing]
            found += [each.data["reason"] for each in got]
            after = got[-1].id

    assert found == [str(number) for number in range(len(told))]


def test_a_place_means_the_same_after_the_read_model_was_built_anew(harness: Harness) -> None:
    tell(harness, "one", "two", "three")
    harness.settle()
    beginning = listen(harness, 1, after=place(harness), say=("four",))[0].id
    wipe(harness.database)
    harness.projector.close()
    harness.projector.open()
    harness.settle()
    found = listen(harness, 1, after=beginning, say=("five",))

    assert [each.data["reason"] for each in found] == ["five"]


def test_a_long_absence_is_caught_up_in_order(harness: Harness) -> None:
    after = place(harness)
    reasons = [str(number) for number in range(350)]
    tell(harness, *reasons)
    harness.settle()

    assert [each.data["reason"] for each in listen(harness, 350, after=after)] == reasons


def test_filters_leave_out_the_others(harness: Harness) -> None:
    after = place(harness)
    tell(harness, "no", job_id="b")
    tell(harness, "no", kind="rejected")
    tell(harness, "yes")
    harness.settle()
    found = listen(harness, 1, "?job_id=a&type=skipped&type=missed", after)

    assert [each.data["reason"] for each in found] == ["yes"]


def test_another_tenants_decisions_are_not_heard(harness: Harness) -> None:
    after = place(harness)
    tell(harness, "ours")
    harness.settle()
    headers = {"Last-Event-ID": after, "Tocsin-Tenant": "acme"}
    text = harness.listen("/v1/events", lambda text: text.count("id: ") > 0, headers)

    assert heard(text) == []


def test_a_sign_of_life_takes_the_place_along(harness: Harness) -> None:
    """What a filter left out need not be read again by who comes back."""

    def has_moved(text: str) -> bool:
        harness.cluster.clock.advance(HEARTBEAT_MS // 10)
        return len({line for line in text.splitlines() if line.startswith("id: ")}) == 2

    seen = harness.listen("/v1/events?type=dead", has_moved, meanwhile=lambda: tell(harness, "no"))

    assert heard(seen) == []


@pytest.mark.parametrize("given_id", ["nonsense", "W10", "WyJqb2JzIiwxXQ", "WyJldmVudHMiLDFd"])
def test_an_id_that_was_not_given_out_is_refused(harness: Harness, given_id: str) -> None:
    answer = harness.http.get("/v1/events", headers={"Last-Event-ID": given_id})

    assert answer.status_code == 400
    assert "Last-Event-ID" in answer.json()["detail"]


@pytest.mark.parametrize("number", [-1, 2**63, 2**64, 10**400])
def test_an_id_of_an_offset_that_no_log_has_is_refused(harness: Harness, number: int) -> None:
    places = len(harness.gateway.progress.reached(harness.topics.events)) + 4
    given_id = write_place((number,) * places)
    answer = harness.http.get("/v1/events", headers={"Last-Event-ID": given_id})

    assert answer.status_code == 400


def test_wrong_parameters_are_told(harness: Harness) -> None:
    assert harness.http.get("/v1/events?type=nothing").status_code == 422
    assert harness.http.get("/v1/events?jobid=a").status_code == 422


def some_run(harness: Harness, job_id: str = "a", second: int = 0) -> Run:
    if harness.http.get(f"/v1/jobs/{job_id}").status_code == 404:
        harness.http.put(f"/v1/jobs/{job_id}", json=job())
    now = harness.cluster.clock.now_ms()
    return harness.scheduler.run_of(JobKey("default", job_id), now + 1_000 * second)


def test_what_workers_say_of_runs_is_told(harness: Harness) -> None:
    run = some_run(harness)
    after = place(harness)
    refused = Error(code="connect", message="refused")
    harness.scheduler.report(run, "started")
    harness.scheduler.report(run, "heartbeat")
    harness.scheduler.report(run, "failed", refused)
    harness.scheduler.report(msgspec.structs.replace(run, attempt=2), "succeeded", result=b'"x"')
    harness.settle()
    found = listen(harness, 3, after=after)

    assert [(each.type, each.data["attempt"]) for each in found] == [
        ("started", 1),
        ("failed", 1),
        ("succeeded", 2),
    ]
    assert found[1].data["error"] == {"code": "connect", "message": "refused"}
    assert {each.data["run_id"] for each in found} == {run.run_id}
    assert "result" not in found[2].data


def test_types_choose_among_decisions_and_words_of_workers(harness: Harness) -> None:
    run = some_run(harness)
    after = place(harness)
    tell(harness, "overlap")
    harness.scheduler.report(run, "started")
    harness.scheduler.report(run, "succeeded")
    harness.settle()

    def types(query: str, count: int) -> list[str]:
        return [each.type for each in listen(harness, count, query, after)]

    assert types("?type=succeeded&type=skipped", 2) == ["skipped", "succeeded"]
    assert types("?type=started", 1) == ["started"]
    assert types("?type=skipped", 1) == ["skipped"]


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    jobs=st.lists(st.sampled_from("abcd"), min_size=1, max_size=30),
    breaks=st.lists(st.integers(1, 30), max_size=3),
    kept=st.integers(1, 4),
)
def test_words_of_workers_that_are_not_in_memory_any_more_come_from_the_log(
    harness: Harness, jobs: list[str], breaks: list[int], kept: int
) -> None:
    after = place(harness)
    runs = [some_run(harness, job_id, second) for second, job_id in enumerate(jobs)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(outcome_tail, "MOST_OF_PARTITION", kept)
        for run in runs:
            harness.scheduler.report(run, "succeeded")
            harness.settle()
    found: list[str] = []
    for read in [*breaks, len(jobs)]:
        missing = min(read, len(jobs) - len(found))
        if missing:
            got = listen(harness, missing, "?type=succeeded", after)[:missing]
            found += [each.data["run_id"] for each in got]
            after = got[-1].id

    assert sorted(found) == sorted(run.run_id for run in runs)
    for job_id in set(jobs):
        told = [name for name in found if f".{job_id}." in name]
        assert told == sorted(told)


def test_what_the_log_has_let_go_is_left_out(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = some_run(harness), some_run(harness, second=1)
    after = place(harness)
    harness.scheduler.report(first, "succeeded")
    harness.scheduler.report(second, "succeeded")
    harness.settle()
    outcomes = harness.topics.outcomes
    partition = next(p for p in range(4) if harness.cluster.records(outcomes, p))
    monkeypatch.setattr(outcome_tail, "MOST_OF_PARTITION", 1)
    harness.scheduler.report(some_run(harness, second=2), "succeeded")
    harness.settle()
    harness.cluster.truncate(outcomes, partition, 1)

    assert listen(harness, 1, after=after)[0].data["run_id"] == second.run_id


def test_another_tenants_runs_are_not_heard(harness: Harness) -> None:
    run = some_run(harness)
    after = place(harness)
    harness.scheduler.report(run, "succeeded")
    harness.settle()
    headers = {"Last-Event-ID": after, "Tocsin-Tenant": "acme"}
    text = harness.listen("/v1/events", lambda text: text.count("id: ") > 0, headers)

    assert heard(text) == []
