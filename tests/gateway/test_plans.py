"""What a request asks of the database is found by an index, whatever else the tenant has."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event

from tocsin.model.jobs import Handler, Job
from tocsin.model.keys import JobKey, run_id
from tocsin.timetable import ScheduleFields
from tocsin.wire.codec import JOB
from tocsin_gateway.projection import job_reads, narrowing, tables
from tocsin_gateway.projection.audit_log import AuditFilter, AuditReads
from tocsin_gateway.projection.backfills import BackfillReads
from tocsin_gateway.projection.cursors import write_cursor
from tocsin_gateway.projection.database import Database, open_database
from tocsin_gateway.projection.job_reads import JobFilter, JobReads
from tocsin_gateway.projection.run_reads import RunFilter, RunReads

NEW_YEAR_MS = 1_767_225_600_000
TENANT = "default"
SENSOR = JobKey(TENANT, "sensor")
OTHERS = [f"sensor.{number:06}" for number in range(1_000)]
STATUSES = ("dead", "expired", "pending", "running")


def runs_of(job_id: str, number: int) -> list[dict[str, object]]:
    """A run a second; nearly all succeed."""
    return [
        {
            "run_id": run_id(TENANT, job_id, NEW_YEAR_MS + 1_000 * at),
            "tenant": TENANT,
            "job_id": job_id,
            "scheduled_time": NEW_YEAR_MS + 1_000 * at,
            "described": 1,
            "attempt": 1,
            "status": STATUSES[at % 4] if at % 50 == 0 else "succeeded",
            "count": 1,
        }
        for at in range(number)
    ]


def a_job(job_id: str, *, exists: bool) -> dict[str, object]:
    job = Job(
        tenant=TENANT,
        job_id=job_id,
        schedule=ScheduleFields(cron="0 7 * * *"),
        handler=Handler(type="noop"),
        status="active",
    )
    return {
        "tenant": TENANT,
        "job_id": job_id,
        "partition": 0,
        "revision": 1,
        "updated_time": 1,
        "created_revision": 1,
        "created_time": 1,
        "definition": JOB.encode(job) if exists else None,
        "status": "active" if exists else None,
    }


def an_event(at: int) -> dict[str, object]:
    return {
        "partition": 0,
        "record_offset": at,
        "tenant": TENANT,
        "job_id": "sensor",
        "type": "skipped",
        "time": at,
        "reason": "",
        "count": 1,
    }


def an_audit(at: int) -> dict[str, object]:
    return {
        "partition": 0,
        "record_offset": at,
        "time": at,
        "tenant": TENANT,
        "actor": f"user:{at % 7}",
        "action": "update",
        "object": f"job/{at % 500}",
        "request_id": "r",
    }


@pytest.fixture
def filled(database_url: str) -> Iterator[Database]:
    """A job among a thousand whose ids begin with its own, nearly all deleted."""
    database = open_database(database_url, 0)
    with database.begin() as connection:
        runs = runs_of("sensor", 300)
        runs += [run for job_id in OTHERS for run in runs_of(job_id, 10)]
        connection.execute(tables.runs.insert(), runs)
        jobs = [a_job(name, exists=at % 100 == 0) for at, name in enumerate(["sensor", *OTHERS])]
        connection.execute(tables.jobs.insert(), jobs)
        connection.execute(tables.audit.insert(), [an_audit(at) for at in range(5_000)])
    if not database.is_sqlite:
        with database.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    yield database
    database.close()


def plans(database: Database, ask: Callable[[], object]) -> list[str]:
    """How the database goes about each statement that this asks."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Connection, _cursor: object, text: str, values: Any, *_: object) -> None:
        if text.startswith("SELECT"):
            asked.append((text, values))

    event.listen(database.engine, "before_cursor_execute", note)
    ask()
    event.remove(database.engine, "before_cursor_execute", note)
    explain = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
    with database.read() as connection:
        found = [connection.exec_driver_sql(f"{explain} {text}", values) for text, values in asked]
        return ["\n".join(str(row[-1]) for row in rows) for rows in found]


def test_a_job_is_read_without_the_runs_of_those_that_begin_with_its_id(filled: Database) -> None:
    jobs, runs = JobReads(filled), RunReads(filled)
    wanted = RunFilter(tenant=TENANT, job_id="sensor")

    assert plans(filled, lambda: jobs.job(SENSOR))[0].count("runs_of_job") == 2
    assert "runs_of_job" in plans(filled, lambda: runs.page(wanted, None, 20))[0]


@pytest.mark.parametrize("statuses", [("dead",), ("dead", "expired"), STATUSES])
def test_runs_of_rare_statuses_are_read_status_by_status(
    filled: Database, statuses: tuple[Any, ...]
) -> None:
    runs = RunReads(filled)
    wanted = RunFilter(tenant=TENANT, statuses=statuses)
    of_page = plans(filled, lambda: runs.page(wanted, None, 20))[: len(statuses)]
    of_ids = plans(filled, lambda: runs.ids(wanted, statuses, 20))

    assert len(of_page) == len(of_ids) == len(statuses)
    assert all("runs_by_rare_status" in plan for plan in of_page + of_ids)


def test_a_common_handler_is_looked_for_among_the_runs_of_a_rare_status(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(narrowing, "MOST_JOBS", -1)
    wanted = RunFilter(tenant=TENANT, statuses=("dead",), handler="http")
    _, far, page, *_ = plans(filled, lambda: RunReads(filled).page(wanted, None, 20))

    assert "runs_by_rare_status" in far
    assert "runs_by_rare_status" in page


@pytest.mark.parametrize("statuses", [(), ("dead",)])
def test_a_later_page_of_a_period_begins_and_ends_where_it_does(
    filled: Database, monkeypatch: pytest.MonkeyPatch, statuses: tuple[Any, ...]
) -> None:
    """Not at the bounds of the period, between which all of the history may be."""
    monkeypatch.setattr(narrowing, "MOST_JOBS", -1)
    monkeypatch.setattr("tocsin_gateway.projection.orders.MOST_ROWS", 5)
    begin, end = NEW_YEAR_MS + 1_000, NEW_YEAR_MS + 290_000
    wanted = RunFilter(
        tenant=TENANT, statuses=statuses, handler="http", since=begin, until=end + 1_000
    )
    cursor = write_cursor("runs", (end, run_id(TENANT, "sensor", end)))
    _, far, page, *_ = plans(filled, lambda: RunReads(filled).page(wanted, cursor, 20))
    if filled.is_sqlite:
        behind = "(scheduled_time,run_id)<(?,?)"
        assert behind in far
        assert behind in page
        assert statuses or "(scheduled_time,run_id)>(?,?)" in page


@pytest.mark.parametrize("value", [None, "prod"])
def test_a_common_tag_is_looked_up_job_by_job(
    filled: Database, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    """However many other jobs have tags."""
    monkeypatch.setattr(narrowing, "MOST_LISTED", -1)
    tags = [
        {"tenant": TENANT, "job_id": job_id, "name": "env", "value": "prod"} for job_id in OTHERS
    ]
    with filled.begin() as connection:
        connection.execute(tables.job_tags.insert(), tags)
        if not filled.is_sqlite:
            connection.exec_driver_sql("ANALYZE")
    wanted = JobFilter(tenant=TENANT, tags=(("env", value),))
    _, _, page, *_ = plans(filled, lambda: JobReads(filled).page(wanted, "job_id", None, 50))

    if filled.is_sqlite:
        assert "SEARCH job_tags USING PRIMARY KEY (tenant=? AND job_id=? AND name=?)" in page
    else:
        assert "(job_id = jobs.job_id)" in page
        assert "Seq Scan" not in page


def test_jobs_are_found_by_their_words(filled: Database) -> None:
    wanted = JobFilter(tenant=TENANT, text="sens")
    words, *_ = plans(filled, lambda: JobReads(filled).page(wanted, "job_id", None, 3))

    assert "job_words" in words
    if filled.is_sqlite:
        assert "(tenant=? AND word>? AND word<?)" in words


@pytest.mark.parametrize("sort", ["job_id", "-job_id", "created_at", "-created_at"])
@pytest.mark.parametrize("job_ids", [[], ["sensor"]])
def test_few_jobs_are_found_by_their_ids(
    filled: Database, monkeypatch: pytest.MonkeyPatch, sort: Any, job_ids: list[str]
) -> None:
    monkeypatch.setattr(job_reads, "few_jobs", lambda *_: job_ids)
    wanted = JobFilter(tenant=TENANT, owner="ada")
    found = plans(filled, lambda: JobReads(filled).page(wanted, sort, None, 20))
    if filled.is_sqlite:
        assert "SEARCH jobs USING PRIMARY KEY (tenant=? AND job_id=?)" in found[0]


def test_the_events_of_backfills_are_found_among_those_of_a_job(filled: Database) -> None:
    with filled.begin() as connection:
        rows = [an_event(at) for at in range(2_000)]
        connection.execute(tables.events.insert(), rows)
        row = {"tenant": TENANT, "backfill_id": "x", "job_id": "sensor"}
        times = dict.fromkeys(("requested_time", "from_time", "to_time"), 1)
        connection.execute(tables.backfills.insert(), [row | times])
    if not filled.is_sqlite:
        with filled.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
    _, told = plans(filled, lambda: BackfillReads(filled).of_job(SENSOR))

    assert "events_of_backfills" in told


def test_the_pools_are_found_without_looking_at_the_jobs(filled: Database) -> None:
    found = plans(filled, lambda: JobReads(filled).pools())

    assert len(found) == 1
    assert "jobs_by_pool" in found[0]


def test_the_pools_of_a_tenant_are_found_without_looking_at_the_jobs(filled: Database) -> None:
    found = plans(filled, lambda: JobReads(filled).pools(TENANT))

    assert all("jobs_by_pool" in plan for plan in found)


@pytest.mark.parametrize("sort", ["job_id", "-job_id", "created_at", "-created_at"])
@pytest.mark.parametrize("text", [None, "x"])
def test_a_list_of_jobs_passes_tombstones_by(
    filled: Database, monkeypatch: pytest.MonkeyPatch, sort: Any, text: str | None
) -> None:
    monkeypatch.setattr(narrowing, "MOST_LISTED", -1)
    wanted = JobFilter(tenant=TENANT, text=text)
    found = plans(filled, lambda: JobReads(filled).page(wanted, sort, None, 3))
    index = "jobs_existing" if "job_id" in sort else "jobs_by_creation"

    of_list = found[:1] if text is None else found[1:3]
    if filled.is_sqlite:
        assert all(index in plan for plan in of_list)
    else:
        assert all("jobs_existing" in p or "jobs_by_creation" in p for p in of_list)


def test_the_audit_of_an_object_is_found_by_it(filled: Database) -> None:
    reads = AuditReads(filled)
    of_object = plans(
        filled, lambda: reads.page(AuditFilter(tenant=TENANT, object="job/7"), None, 20)
    )

    assert len(of_object) == 1
    assert "audit_of_object" in of_object[0]


def test_a_page_of_the_audit_looks_through_so_many_records(
    filled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be shorter then; the pages together hold all."""
    monkeypatch.setattr("tocsin_gateway.projection.orders.MOST_ROWS", 50)
    reads, wanted = AuditReads(filled), AuditFilter(tenant=TENANT, actor="user:3")
    cursor: str | None = None
    pages: list[list[int]] = []
    while True:
        page = reads.page(wanted, cursor, 20)
        pages.append([row.entry.time for row in page.items])
        cursor = page.next_cursor
        if cursor is None:
            break

    assert {len(page) for page in pages} <= {0, 7, 8}
    assert [time for page in pages for time in page] == list(range(4_994, -1, -7))
