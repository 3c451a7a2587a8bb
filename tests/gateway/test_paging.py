"""Pages neither skip nor repeat what is there all the time, while other things come and go."""

import base64
import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tocsin.model.keys import JobKey
from tocsin_gateway.projection import narrowing, orders
from tocsin_gateway.projection.job_reads import JobFilter, JobReads

NAMES = [f"job-{number:02}" for number in range(20)]


def pages(http: httpx.Client, path: str, limit: int, **query: Any) -> list[list[Any]]:
    """All pages, one after another."""
    found, cursor = [], None
    while True:
        answer = http.get(
            path, params={**query, "limit": limit, **({"cursor": cursor} if cursor else {})}
        )
        found.append(answer.json()["items"])
        cursor = answer.json().get("next_cursor")
        if cursor is None:
            return found


@pytest.mark.parametrize("sort", ["job_id", "-job_id", "created_at", "-created_at"])
def test_all_jobs_come_once_in_order(harness: Harness, sort: str) -> None:
    for number, name in enumerate(NAMES):
        harness.cluster.clock.advance(number % 2)
        harness.http.put(f"/v1/jobs/{name}", json=job())
    read = [
        item["job_id"] for page in pages(harness.http, "/v1/jobs", 3, sort=sort) for item in page
    ]

    assert read == sorted(NAMES, reverse=sort.startswith("-"))


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    edits=st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=6),
    limit=st.integers(1, 5),
)
def test_jobs_that_stay_are_listed_once_while_others_change(
    harness: Harness, edits: list[tuple[str, bool]], limit: int
) -> None:
    for name in NAMES[::2]:
        harness.http.put(f"/v1/jobs/{name}", json=job())
    staying = set(NAMES[::2]) - {name for name, _ in edits}
    read, cursor, left = [], None, list(edits)
    while True:
        query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
        page = harness.http.get("/v1/jobs", params=query).json()
        read += [item["job_id"] for item in page["items"]]
        if left:
            name, is_deleted = left.pop()
            path = f"/v1/jobs/{name}"
            harness.http.delete(path) if is_deleted else harness.http.put(
                path, json=job(owner="me")
            )
        cursor = page.get("next_cursor")
        if cursor is None:
            break

    assert len(read) == len(set(read))
    assert staying <= set(read)


def test_b169_runs_come_newest_first_and_once(harness: Harness) -> None:
    for name in ("a", "b", "b.2026"):
        harness.http.put(f"/v1/jobs/{name}", json=job())
    now = harness.cluster.clock.now_ms()
    for second in range(20):
        for name in ("a", "b", "b.2026"):
            harness.scheduler.emit(
                harness.scheduler.run_of(JobKey("default", name), now + 1_000 * second)
            )
    harness.settle()
    of_all = [run for page in pages(harness.http, "/v1/runs", 7) for run in page]
    of_one = [run for page in pages(harness.http, "/v1/jobs/b/runs", 7) for run in page]

    assert len({run["run_id"] for run in of_all}) == len(of_all) == 60
    times = [run["scheduled_time"] for run in of_all]
    assert times == sorted(times, reverse=True)
    assert [run["job_id"] for run in of_one] == ["b"] * 20
    assert of_one == [run for run in of_all if run["job_id"] == "b"]


def test_filters_hold_together(harness: Harness) -> None:
    for number, name in enumerate(NAMES):
        tags = {"team": "x" if number % 2 else "y", "tier": str(number % 3)}
        owner = "me" if number < 10 else "you"
        status = "paused" if number % 5 == 0 else "active"
        harness.http.put(f"/v1/jobs/{name}", json=job(tags=tags, owner=owner, status=status))

    def listed(**query: Any) -> list[str]:
        answer = harness.http.get("/v1/jobs", params={**query, "limit": 500})
        return [item["job_id"] for item in answer.json()["items"]]

    assert listed(tag="team") == NAMES
    assert listed(tag="team:x") == NAMES[1::2]
    assert listed(tag=["team:x", "tier:0"], owner="me") == ["job-03", "job-09"]
    assert listed(status="paused") == NAMES[::5]
    assert listed(status="active", owner="you", q="JOB-1") == [
        name for number, name in enumerate(NAMES) if number >= 10 and number % 5
    ]
    assert listed(q="%") == listed(q="_") == []


def test_runs_are_filtered_by_status_time_handler_and_tag(harness: Harness) -> None:
    harness.http.put("/v1/jobs/a", json=job(tags={"team": "x"}))
    harness.http.put("/v1/jobs/b", json=job())
    now = harness.cluster.clock.now_ms()
    for second in range(4):
        for name in ("a", "b"):
            run = harness.scheduler.run_of(JobKey("default", name), now + 1_000 * second)
            harness.scheduler.emit(run)
            if second < 2:
                harness.scheduler.report(run, "cancelled" if second else "succeeded")
    harness.settle()

    def count(**query: Any) -> int:
        return len(harness.http.get("/v1/runs", params=query).json()["items"])

    assert count() == 8
    assert count(status="cancelled") == 2
    assert count(status=["cancelled", "pending"]) == 6
    assert count(since="2026-01-01T00:00:01Z", until="2026-01-01T00:00:03Z") == 4
    harness.cluster.clock.advance(4_000)
    assert count(since="PT2S") == 4
    assert count(tag="team:x", job_id="a") == count(job_id="a") == 4
    assert count(handler="noop") == 8
    assert count(handler="http") == count(job_id="no/such") == count(tag="other") == 0


CURSORS: dict[str, tuple[str, list[int | str]]] = {
    "/v1/jobs": ("jobs job_id", ["a"]),
    "/v1/runs": ("runs", [1, "a"]),
    "/v1/audit": ("audit", [1, 1, 1]),
}
"""Lists with what their cursors begin with, and the kinds of what stands in them."""

UNASKABLE: dict[type, list[str]] = {
    int: ["-1", "9223372036854775808", "1" + "0" * 400, "1e3", "true"],
    str: [r'"\ud800"', r'"\u0000"', r'"a\udc00b"', "null"],
}


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize("path", CURSORS)
def test_a_made_up_cursor_is_refused_whatever_stands_in_it(harness: Harness, path: str) -> None:
    """No database can be asked for some numbers and texts."""
    order, values = CURSORS[path]
    for number, value in enumerate(values):
        for wrong in UNASKABLE[type(value)]:
            texts = [json.dumps(order), *map(json.dumps, values)]
            texts[number + 1] = wrong
            cursor = encoded(f"[{','.join(texts)}]")
            answer = harness.http.get(path, params={"cursor": cursor})

            assert answer.status_code == 422, (texts, answer.text)
            assert answer.json()["errors"][0]["pointer"] == "/cursor"


@pytest.mark.parametrize("path", CURSORS)
def test_a_made_up_cursor_of_the_largest_numbers_is_a_place(harness: Harness, path: str) -> None:
    order, values = CURSORS[path]
    largest = [2**63 - 1 if isinstance(value, int) else value for value in values]
    cursor = encoded(json.dumps([order, *largest]))

    assert harness.http.get(path, params={"cursor": cursor}).status_code == 200


LOOKS = [(0, 3), (2, 7), (100, 3), (100, 10_000)]
"""How few jobs count as few, and how many rows a page looks through: each way to search."""

RUN_QUERIES: tuple[dict[str, Any], ...] = (
    {"tag": "team"},
    {"tag": "team:x"},
    {"tag": ["team:y", "tier:1"]},
    {"tag": "none"},
    {"handler": "http"},
    {"handler": "kafka"},
    {"tag": "team", "handler": "http", "status": "succeeded"},
    {"status": ["succeeded", "pending"], "since": "2026-01-01T00:00:02Z"},
    {"tag": "tier", "status": "pending"},
    {"status": ["pending", "dead", "skipped", "cancelled"]},
    {"status": ["cancelled", "pending"], "handler": "http", "since": "2026-01-01T00:00:02Z"},
)
JOB_QUERIES: tuple[dict[str, Any], ...] = (
    {"tag": "team"},
    {"tag": ["team:y", "tier"]},
    {"owner": "me", "status": "paused"},
    {"owner": "nobody"},
    {"status": "active", "q": "JOB-0"},
    {"q": "20260101"},
    {"status": "completed"},
    {"q": " JOB "},
    {"q": "yo jo"},
    {"q": "m 05"},
    {"q": "ob"},
    {"q": "job-5"},
    {"q": "%"},
)


RARE = ("job-01", "job-03", "job-05", "job-06")
"""Jobs of which the last run is cancelled."""


def many_jobs(harness: Harness) -> None:
    """Jobs that differ in what filters ask for, with runs at the same times."""
    tags: tuple[dict[str, str], ...] = (
        {"team": "x"},
        {"team": "y", "tier": "1"},
        {},
        {"tier": "2"},
    )
    handlers = ({"type": "noop"}, {"type": "http", "url": "https://billing.example/"})
    names = [*NAMES[:9], "job-00.20260101"]
    for number, name in enumerate(names):
        harness.cluster.clock.advance(number % 2)
        put = job(
            tags=tags[number % 4],
            handler=handlers[number % 3 == 0],
            owner="me" if number % 5 == 0 else "you",
            status="paused" if number % 4 == 0 else "active",
        )
        assert harness.http.put(f"/v1/jobs/{name}", json=put).status_code == 201
    now = harness.cluster.clock.now_ms()
    for second in range(4):
        for name in names:
            run = harness.scheduler.run_of(JobKey("default", name), now + 1_000 * second)
            harness.scheduler.emit(run)
            if second % 2:
                is_rare = name in RARE and second == 3
                harness.scheduler.report(run, "cancelled" if is_rare else "succeeded")
    harness.settle()


def test_runs_are_found_the_same_whatever_is_rare(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rare tag or handler is looked up job by job, a common one along the list; a page that has
    looked at enough rows ends early. Every way finds the same runs in the same order."""
    many_jobs(harness)
    found: dict[int, list[list[str]]] = {}
    for few, rows in LOOKS:
        monkeypatch.setattr(narrowing, "MOST_JOBS", few)
        monkeypatch.setattr(orders, "MOST_ROWS", rows)
        for number, query in enumerate(RUN_QUERIES):
            read = pages(harness.http, "/v1/runs", 4, **query)
            assert all(len(page) <= 4 for page in read)
            found.setdefault(number, []).append([run["run_id"] for page in read for run in page])

    assert all(each == ways[0] for ways in found.values() for each in ways)
    assert [len(ways[0]) for ways in found.values()] == [24, 12, 12, 0, 16, 0, 4, 16, 10, 24, 6]


@pytest.mark.parametrize("sort", ["job_id", "-job_id", "created_at", "-created_at"])
def test_jobs_are_found_the_same_whatever_is_rare(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    many_jobs(harness)
    found: dict[int, list[list[str]]] = {}
    for few, rows in LOOKS:
        monkeypatch.setattr(narrowing, "MOST_LISTED", few)
        monkeypatch.setattr(orders, "MOST_ROWS", rows)
        for number, query in enumerate(JOB_QUERIES):
            read = pages(harness.http, "/v1/jobs", 2, sort=sort, **query)
            found.setdefault(number, []).append([job["job_id"] for page in read for job in page])

    assert all(each == ways[0] for ways in found.values() for each in ways)
    assert [len(ways[0]) for ways in found.values()] == [6, 3, 1, 0, 7, 1, 0, 10, 8, 1, 0, 0, 0]


def test_all_that_match_are_counted_however_few_one_look_goes_through(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    many_jobs(harness)
    monkeypatch.setattr(orders, "MOST_ROWS", 3)
    reads = JobReads(harness.database)
    every = reads.keys(JobFilter(tenant="default", text="job"), 100)

    assert [key.job_id for key in every] == sorted([*NAMES[:9], "job-00.20260101"])
    assert reads.keys(JobFilter(tenant="default", text="job"), 4, "job-02") == every[4:8]
