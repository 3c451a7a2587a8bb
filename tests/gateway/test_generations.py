"""Read models beside one another: a rebuild and a new version disturb nobody."""

from pathlib import Path

import pytest
from sqlalchemy import select

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tocsin_gateway.projection import tables
from tocsin_gateway.projection.database import Database, open_database, rebuilding
from tocsin_gateway.projection.generations import ABANDONED_MS, Generations
from tocsin_gateway.projection.writer import OffsetsMoved


def jobs_in(database: Database) -> list[str]:
    with database.read() as connection:
        return list(connection.execute(select(tables.jobs.c.job_id)).scalars())


def rebuild(harness: Harness, url: str, folder: Path) -> None:
    """As `tocsin gateway rebuild` does it."""
    now = harness.cluster.clock.now_ms()
    with rebuilding(url, now) as beside:
        assert jobs_in(beside) == []
        with Harness(
            folder, cluster=harness.cluster, scheduler=harness.scheduler, database=beside
        ) as other:
            other.settle()


def test_a_gateway_serves_the_old_one_until_it_takes_up_the_new(
    harness: Harness, database_url: str, tmp_path: Path
) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    old = harness.database.generation
    rebuild(harness, database_url, tmp_path)
    assert harness.http.get("/v1/jobs/a").status_code == 200
    assert harness.database.generation == old
    harness.cluster.clock.advance(5_000)
    with pytest.raises(OffsetsMoved) as moved:
        harness.projector.step(0)
    harness.projector.failed(moved.value)
    harness.projector.open()
    harness.settle()

    assert harness.database.generation == old + 1
    assert harness.http.get("/v1/jobs/a").status_code == 200
    assert harness.http.put("/v1/jobs/b", json=job()).status_code == 201


def test_a_rebuild_that_fails_changes_nothing(harness: Harness, database_url: str) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    with pytest.raises(KeyboardInterrupt), rebuilding(database_url, now):
        raise KeyboardInterrupt
    harness.cluster.clock.advance(5_000)
    harness.settle()

    assert harness.http.get("/v1/jobs/a").status_code == 200
    again = open_database(database_url, now)
    assert again.generation == harness.database.generation
    again.close()


def test_a_new_version_is_built_beside_the_old(harness: Harness, database_url: str) -> None:
    harness.http.put("/v1/jobs/a", json=job())
    now = harness.cluster.clock.now_ms()
    generations = Generations(database_url, version="next")
    newer = Database(generations, generations.current(now))

    assert jobs_in(newer) == []
    assert jobs_in(harness.database) == ["a"]
    newer.close()


def test_what_nobody_keeps_up_is_removed(harness: Harness, database_url: str) -> None:
    now = harness.cluster.clock.now_ms()
    older = Generations(database_url, version="older")
    first = older.current(now)
    older.engine(first).dispose()
    harness.let_pass(ABANDONED_MS // 2)
    harness.let_pass(ABANDONED_MS // 2 + 1_000)
    later = harness.cluster.clock.now_ms()
    harness.database.touch(later)

    assert older.current(later) == first  # it is made anew, under the number that is free again
    assert harness.http.get("/v1/jobs").status_code == 200
    remade = Database(older, first)
    assert jobs_in(remade) == []
    remade.close()


def test_of_two_that_open_an_empty_database_one_makes_the_read_model(database_url: str) -> None:
    one, two = open_database(database_url, 0), open_database(database_url, 0)

    assert one.generation == two.generation
    one.close()
    two.close()
