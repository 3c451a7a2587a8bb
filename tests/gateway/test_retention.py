"""History is bounded: by age, and by count for each job."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Table, func, select

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.model.events import Event
from tocsin.model.keys import JobKey
from tocsin_gateway.projection import removal, retention, tables
from tocsin_gateway.projection.grown_jobs import GrownJobs
from tocsin_gateway.projection.retention import Retention, Sweeper

KEY = JobKey("default", "a")
DAY_MS = 86_400_000
KEPT = Retention(age_ms=7 * DAY_MS, runs_a_job=100)


@pytest.fixture
def harness(tmp_path: Path, database_url: str) -> Iterator[Harness]:
    options = msgspec.structs.replace(PATIENT, retention=KEPT)
    with Harness(tmp_path, options, database_url=database_url) as made:
        made.http.put("/v1/jobs/a", json=job())
        made.http.put("/v1/jobs/a.2026", json=job())
        yield made


def run(
    harness: Harness, count: int, *, key: JobKey = KEY, ends: bool = True, ago_ms: int = 0
) -> None:
    """That many runs, a second apart."""
    now = harness.cluster.clock.now_ms() - ago_ms
    for second in range(count):
        made = harness.scheduler.run_of(key, now + 1_000 * second)
        harness.scheduler.emit(made)
        if ends:
            harness.scheduler.report(made, "succeeded")
    harness.settle()


def sweep(harness: Harness) -> None:
    harness.cluster.clock.advance(11_000)
    harness.settle()


def listed(harness: Harness, job_id: str = "a") -> list[str]:
    page = harness.http.get(f"/v1/jobs/{job_id}/runs?limit=500").json()
    return [item["run_id"] for item in page["items"]]


def test_b173_the_last_runs_are_kept_in_order(harness: Harness) -> None:
    run(harness, 300)
    before = listed(harness)
    sweep(harness)

    assert listed(harness) == before[:100]
    harness.projector.close()
    harness.projector.open()
    harness.settle()
    assert listed(harness) == before[:100]


def test_runs_of_a_job_with_a_longer_name_are_not_counted(harness: Harness) -> None:
    run(harness, 60)
    run(harness, 60, key=JobKey("default", "a.2026"))
    sweep(harness)

    assert (len(listed(harness)), len(listed(harness, "a.2026"))) == (60, 60)


def test_unfinished_runs_are_kept_however_many(harness: Harness) -> None:
    run(harness, 150, ends=False)
    sweep(harness)

    assert len(listed(harness)) == 150


def test_runs_and_events_of_another_week_are_gone(harness: Harness) -> None:
    run(harness, 10)
    harness.scheduler.tell(
        Event(tenant="default", job_id="a", type="rejected", time=DAY_MS, reason="old")
    )
    harness.let_pass(8 * DAY_MS)
    run(harness, 1)
    sweep(harness)

    assert len(listed(harness)) == 1
    assert harness.http.get("/healthz/ready").status_code == 200


def test_a_backfilled_slot_of_long_ago_is_as_old_as_its_run(harness: Harness) -> None:
    """What a backfill of another month has run can be looked at, and redriven where it died."""
    now = harness.cluster.clock.now_ms()
    slot = harness.scheduler.run_of(KEY, now - 60 * DAY_MS, "-b0123abcd")
    harness.scheduler.emit(msgspec.structs.replace(slot, cause="backfill", emitted_time=now))
    harness.scheduler.report(slot, "succeeded")
    harness.settle()
    harness.let_pass(6 * DAY_MS)
    sweep(harness)
    assert listed(harness) == [slot.run_id]
    harness.let_pass(DAY_MS)
    sweep(harness)

    assert listed(harness) == []


def test_a_backfilled_slot_before_the_last_runs_stays_for_a_day(harness: Harness) -> None:
    run(harness, 150)
    now = harness.cluster.clock.now_ms()
    slot = harness.scheduler.run_of(KEY, now - 2 * DAY_MS, "-b0123abcd")
    harness.scheduler.emit(msgspec.structs.replace(slot, cause="backfill", emitted_time=now))
    harness.scheduler.report(slot, "succeeded")
    harness.settle()
    sweep(harness)
    assert listed(harness)[100:] == [slot.run_id]

    harness.let_pass(DAY_MS)
    run(harness, 50)
    sweep(harness)
    assert len(listed(harness)) == 100
    assert slot.run_id not in listed(harness)


def test_a_deleted_job_leaves_nothing_after_the_compaction_lag(harness: Harness) -> None:
    harness.http.delete("/v1/jobs/a")
    harness.let_pass(2 * DAY_MS)
    sweep(harness)

    assert harness.gateway.app.state.context.jobs.held(KEY) is None


def count(harness: Harness, table: Table) -> int:
    with harness.database.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def old_history(harness: Harness, number: int) -> None:
    """Rows of each kind that has a time: too old, all of them."""
    rows: tuple[tuple[Table, dict[str, object]], ...] = (
        (tables.verdicts, {"verdict": "accepted", "reason": "", "judged_time": 1}),
        (tables.events, {"type": "rejected", "reason": "", "time": 1, "count": 1}),
        (tables.audit, {"actor": "a", "action": "b", "object": "c", "request_id": "", "time": 1}),
    )
    with harness.database.begin() as connection:
        for table, values in rows:
            named: dict[str, object] = {"tenant": "default", "job_id": "a", **values}
            kept = {name: value for name, value in named.items() if name in table.columns}
            found = [kept | {"partition": 9, "record_offset": at} for at in range(number)]
            connection.execute(table.insert(), found)


def test_what_has_piled_up_goes_slice_by_slice(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much there is, one transaction removes a slice of it; the next one follows at once,
    not at the next turn."""
    monkeypatch.setattr(removal, "SLICE", 10)
    kinds = (tables.verdicts, tables.events, tables.audit)
    before = [count(harness, table) for table in kinds]
    old_history(harness, 35)
    now = harness.cluster.clock.now_ms()
    sweeper, left = Sweeper(harness.database, KEPT), []
    while sweeper.sweep(now):
        left.append([count(harness, t) - b for t, b in zip(kinds, before, strict=True)])

    assert left == [[25] * 3, [15] * 3, [5] * 3]
    assert [count(harness, table) for table in kinds] == before


@pytest.mark.parametrize(
    ("ago_ms", "expected"),
    [(0, [240, 190, 140, 100, 100]), (8 * DAY_MS, [190, 90, 40, 0, 0])],
    ids=["by count", "by count and by age"],
)
def test_runs_go_as_fast_as_sweeps_follow_one_another(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, ago_ms: int, expected: list[int]
) -> None:
    """A full slice with each turn of the projector, though not a second passes."""
    monkeypatch.setattr(retention, "SLICE", 50)
    run(harness, 290, ago_ms=ago_ms)
    harness.cluster.clock.advance(11_000)
    left = []
    for _ in expected:
        harness.pump()
        left.append(count(harness, tables.runs))

    assert left == expected


def test_a_job_that_never_runs_again_loses_what_was_too_much_before_a_restart(
    harness: Harness,
) -> None:
    run(harness, 300)
    harness.projector.close()
    harness.projector.open()
    assert len(listed(harness)) == 300
    sweep(harness)

    assert len(listed(harness)) == 100


def test_after_a_restart_only_jobs_that_have_grown_are_looked_at(harness: Harness) -> None:
    """However many jobs there are, a sweep after a start costs what the last one has left."""
    for number in range(20):
        harness.http.put(f"/v1/jobs/job-{number}", json=job())
    run(harness, 60)
    sweep(harness)
    run(harness, 60, ago_ms=3_600_000)
    restarted = GrownJobs(harness.database, KEPT.runs_a_job)
    with harness.database.begin() as connection:
        restarted.begin_anew(connection)
        assert restarted.take(connection, 500) == {KEY}
        assert restarted.take(connection, 500) == set()


def test_every_job_is_looked_at_once_when_fewer_runs_are_kept(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is interrupted by another restart, and however many jobs there are."""
    monkeypatch.setattr(retention, "_MOST_AT_ONCE", 3)
    names = [f"job-{number}" for number in range(10)]
    for name in names:
        harness.http.put(f"/v1/jobs/{name}", json=job())
    for name in names[::4]:
        run(harness, 110, key=JobKey("default", name))
    sweep(harness)
    assert [len(listed(harness, name)) for name in names[::4]] == [100] * 3

    fewer = msgspec.structs.replace(KEPT, runs_a_job=30)
    Sweeper(harness.database, fewer).begin_anew()
    has_more = True
    while has_more:
        sweeper = Sweeper(harness.database, fewer)
        sweeper.begin_anew()
        has_more = sweeper.sweep(harness.cluster.clock.now_ms())

    assert [len(listed(harness, name)) for name in names[::4]] == [30] * 3


def test_tombstones_go_slice_by_slice(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SLICE", 3)
    for number in range(7):
        harness.http.put(f"/v1/jobs/old-{number}", json=job())
        harness.http.delete(f"/v1/jobs/old-{number}")
    sweeper, left = Sweeper(harness.database, KEPT), []
    while sweeper.sweep(harness.cluster.clock.now_ms() + 2 * DAY_MS):
        left.append(count(harness, tables.jobs))

    assert left == [6, 3]
    assert count(harness, tables.jobs) == 2
