"""Rows and offsets move together: whatever fails, each record counts once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, event, select
from sqlalchemy.exc import OperationalError

from tests.gateway.documents import job
from tests.gateway.harness import PATIENT, Harness
from tocsin.broker.errors import Rebuild
from tocsin.broker.port import TopicPartition
from tocsin.model.keys import JobKey
from tocsin.model.runs import Error
from tocsin_gateway.projection import tables
from tocsin_gateway.projection.database import Database
from tocsin_gateway.projection.facts import decoders
from tocsin_gateway.projection.identity import wipe
from tocsin_gateway.projection.writer import OffsetsMoved, Writer

KEY = JobKey("default", "a")


def contents(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of what is read from the log; when it was read does not matter."""
    read = {}
    for table in (tables.jobs, tables.job_tags, tables.runs, tables.attempts, tables.events):
        with database.read() as connection:
            rows = connection.execute(select(table).order_by(*table.primary_key)).all()
            read[table.name] = [tuple(row) for row in rows]
    with database.read() as connection:
        columns = (tables.offsets.c.topic, tables.offsets.c.partition, tables.offsets.c.next_offset)
        rows = connection.execute(select(*columns).order_by(*columns)).all()
    return {**read, "offsets": [tuple(row) for row in rows]}


def some_history(harness: Harness) -> None:
    """Jobs, runs, failures and events, not yet read."""
    assert harness.http.put("/v1/jobs/a", json=job(tags={"team": "x"})).status_code == 201
    harness.projector_runs = False
    for second in range(12):
        run = harness.scheduler.run_of(KEY, harness.cluster.clock.now_ms() + second * 1_000)
        harness.scheduler.emit(run)
        if second % 3 == 0:
            harness.scheduler.report(run, "failed", Error(code="connect", message="refused"))
            harness.scheduler.emit(msgspec.structs.replace(run, attempt=2))
        harness.scheduler.report(msgspec.structs.replace(run, attempt=2), "succeeded")
    harness.projector_runs = True


@contextmanager
def failing_after(database: Database, statements: int) -> Iterator[None]:
    """The database fails with the statement after so many, as a full disk would."""
    left = [statements]

    def fail(_connection: Connection, *_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OperationalError("disk full", None, Exception("disk full"))

    event.listen(database.engine, "before_cursor_execute", fail)
    try:
        yield
    finally:
        event.remove(database.engine, "before_cursor_execute", fail)


def step_fails(harness: Harness, statements: int) -> bool:
    """Whether a step with a failing database failed; the projector is closed then."""
    before = contents(harness.database)
    with failing_after(harness.database, statements):
        try:
            harness.projector.step(0)
        except OperationalError as error:
            harness.projector.failed(error)
    if harness.projector.is_open:
        return False
    assert contents(harness.database) == before
    return True


@pytest.fixture
def undisturbed(harness: Harness) -> dict[str, list[tuple[Any, ...]]]:
    """What some history comes to where nothing fails."""
    some_history(harness)
    harness.settle()
    return contents(harness.database)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(failures=st.lists(st.integers(0, 12), max_size=4))
def test_a_failure_between_any_two_statements_leaves_all_or_nothing(
    harness: Harness, undisturbed: dict[str, list[tuple[Any, ...]]], failures: list[int]
) -> None:
    harness.projector.close()
    wipe(harness.database)
    harness.projector.open()
    for statements in failures:
        if step_fails(harness, statements):
            harness.projector.open()
    harness.settle()

    assert len(undisturbed["runs"]) == 12
    assert contents(harness.database) == undisturbed


def test_a_read_model_wiped_under_a_running_gateway_is_built_again(harness: Harness) -> None:
    some_history(harness)
    harness.settle()
    before = contents(harness.database)
    wipe(harness.database)
    harness.scheduler.emit(harness.scheduler.run_of(KEY, 0))
    with pytest.raises(OffsetsMoved):
        harness.projector.step(0)
    harness.projector.close()
    harness.projector.open()
    harness.settle()

    assert len(contents(harness.database)["runs"]) == len(before["runs"]) + 1


def test_two_projectors_over_one_database_count_once(harness: Harness, tmp_path: Path) -> None:
    with Harness(tmp_path, cluster=harness.cluster, scheduler=harness.scheduler) as other:
        some_history(harness)
        other.projector.step(0)
        harness.projector.step(0)
        other.settle()
        first = contents(harness.database)
        written = other.http.put("/v1/jobs/b", json=job())

        assert len(first["runs"]) == 12
        assert written.status_code == 201


def test_records_that_another_projector_has_written_are_left_out(harness: Harness) -> None:
    """What is behind the stored offset would set a job back to what it was."""
    for owner in (b"first", b"second"):
        command = b'{"schedule": {"cron": "0 7 * * *"}, "handler": {"type": "noop"}, "owner": "%s"}'
        harness.cluster.producer().produce(harness.topics.jobs, b"default/a", command % owner)
    harness.settle()
    before = contents(harness.database)
    place = next(
        TopicPartition(harness.topics.jobs, p)
        for p in range(4)
        if harness.cluster.records(harness.topics.jobs, p)
    )
    late = harness.cluster.records(*place)[:1]
    lag = PATIENT.compaction_lag_ms
    writer = Writer(harness.database, compaction_lag_ms=lag, runs_a_job=1_000)
    readers = decoders(harness.topics, frozenset({"default"}), 4)
    writer.write(late, {place: 0}, {place: 1}, readers, harness.cluster.clock.now_ms())

    assert contents(harness.database) == before


def test_another_log_begins_the_read_model_anew(harness: Harness, tmp_path: Path) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    harness.projector.close()
    harness.cluster.delete_topic(harness.topics.jobs)
    harness.cluster.create_topic(harness.topics.jobs, 4, compacted=True)
    harness.scheduler.held.clear()
    harness.projector.open()

    assert harness.http.get("/v1/jobs/a").status_code == 404


def test_records_that_expired_unread_do_not_stop_the_gateway(harness: Harness) -> None:
    some_history(harness)
    topic, partition = next(
        (harness.topics.runs("normal"), p)
        for p in range(4)
        if len(harness.cluster.records(harness.topics.runs("normal"), p)) > 1
    )
    harness.cluster.truncate(topic, partition, 1)
    harness.projector.step(0)
    with pytest.raises(Rebuild) as caught:
        harness.projector.step(0)
    harness.projector.failed(caught.value)
    harness.projector.open()
    harness.settle()

    assert harness.http.get("/v1/runs").status_code == 200
    assert harness.http.get("/healthz/ready").status_code == 200
