"""SQLite's write-ahead log is moved into the file beside the writer, and stays small."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from tocsin_gateway.projection.engines import make_engine, move_log, reading, writing

ROWS = 2_000


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    made = make_engine(f"sqlite:///{tmp_path / 'model.sqlite'}")
    with writing(made) as connection:
        connection.execute(text("CREATE TABLE t (x TEXT)"))
    yield made
    made.dispose()


def write(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.exec_driver_sql("INSERT INTO t VALUES (?)", [("x" * 500,)] * ROWS)


def rows_of_the_file_alone(tmp_path: Path) -> int:
    copy = tmp_path / "copy.sqlite"
    shutil.copy(tmp_path / "model.sqlite", copy)
    with sqlite3.connect(copy) as connection:
        (number,) = connection.execute("SELECT count(*) FROM t").fetchone()
    return int(number)


def test_what_it_holds_is_in_the_file_and_it_begins_anew(engine: Engine, tmp_path: Path) -> None:
    log = tmp_path / "model.sqlite-wal"
    write(engine)
    move_log(engine)
    first = log.stat().st_size
    for _ in range(5):
        write(engine)
        move_log(engine)

    assert rows_of_the_file_alone(tmp_path) == 6 * ROWS
    assert log.stat().st_size < 2 * first


def test_a_reader_of_an_earlier_moment_holds_nobody_up(engine: Engine) -> None:
    write(engine)
    with reading(engine) as connection:
        before = connection.execute(text("SELECT count(*) FROM t")).scalar()
        write(engine)
        move_log(engine)
        write(engine)
        again = connection.execute(text("SELECT count(*) FROM t")).scalar()

    assert (before, again) == (ROWS, ROWS)


def test_a_connection_waits_for_others_as_long_as_before(engine: Engine) -> None:
    move_log(engine)
    with reading(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 10_000
